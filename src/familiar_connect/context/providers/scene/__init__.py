"""Contributors that tell where the familiar is and who is there, from the scene a platform shows."""
