"""The version, which is that of the programs."""

VERSION = "0.1.0"
