"""What a command line may say: a number that is refused names its bounds."""

import argparse


def between(least, most, kind=int):
    def convert(written):
        try:
            value = kind(written)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f'"{written}" is not from {least} to {most}')
        return value

    return convert


rounds = between(1, 1000)
