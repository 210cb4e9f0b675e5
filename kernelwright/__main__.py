"""`python -m kernelwright`: the command line from a bare copy of the tree."""

from kernelwright.cli import main

if __name__ == "__main__":
    main()
