"""The version, which is that of the programs."""

VERSION = "0.2.0"
