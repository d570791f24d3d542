"""What the tests of an extension start: a familiar with a scripted model, and the checks of a platform."""
