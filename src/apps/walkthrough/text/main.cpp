/// timingwheel-walkthrough-facts: what docs/walkthrough.md is made of, as one JSON document.

#include "apps/walkthrough/text/Facts.h"

#include <cstdio>

int main() { std::printf("%s\n", walkthrough::facts().c_str()); }
