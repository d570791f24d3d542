"""What is measured rather than asserted: speed, reuse, recall, and what survives faults."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program has it; others would pay for threads that spin
