"""The one command: `python3 run.py` sets everything up and starts a chat with a familiar.

    python3 run.py                 set up, then `familiar chat`
    python3 run.py VERB ...        set up, then `familiar VERB ...`
    python3 run.py web             set up with the page's packages too, then open the page in the browser
    python3 run.py voice ...       set up with the packages of voice too, then `familiar voice ...`
    python3 run.py --with EXTRA .. the same with the packages of Discord, Twitch or Telegram; once is enough
    python3 run.py test            set up, then every check and every test
    python3 run.py test --quick    set up, then, in two minutes, the tests that start nothing and take no second
    python3 run.py test ARGS ...   set up, then pytest with these arguments
    python3 run.py docs [FOLDER]   set up, then build the site of the documentation
    python3 run.py --setup-only    set up and stop

Needs nothing but Python and, the first time, a network. This file stays readable to every Python since 2.7,
so that an old one gets a sentence instead of a syntax error; what it starts lives in `tools/launch.py`.
"""

import os
import sys

OLDEST, NEWEST = (3, 11), (3, 14)

if sys.version_info[:2] < OLDEST:
    import subprocess  # a ready start does without it

    found = ".".join(str(part) for part in sys.version_info[:3])
    fix = "install a newer Python, then run it again with that one"
    names = ["python3." + str(minor) for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    for name in names:
        try:
            with open(os.devnull, "w") as nowhere:
                works = subprocess.call([name, "-c", ""], stdout=nowhere, stderr=nowhere) == 0
        except OSError:
            works = False
        if works:
            fix = "this machine has a newer one, so type `" + name + " run.py`"
            break
    sys.stderr.write("Familiar Connect needs Python 3.11 or newer, and this is Python " + found + ": " + fix + ".\n")
    sys.exit(1)

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from tools.launch import main  # noqa: E402 - an old Python must meet the sentence above first

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
