"""Extensions: what a package may bring, how the owner's list is loaded, and what keeps a faulty part apart."""
