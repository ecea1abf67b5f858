"""Let ``python -m peerpressure`` do what ``peerpressure`` does."""

from peerpressure.cli import main

if __name__ == "__main__":
    main()
