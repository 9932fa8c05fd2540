"""`python -m reference_app ...`"""

import sys

from reference_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
