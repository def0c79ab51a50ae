"""The kits, all by the same cases (cases.py); one file a language, test_LANGUAGE.py, says how its programs are run."""
