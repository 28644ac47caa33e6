#pragma once

#include <cassert>

#define SEASTAR_ASSERT(condition) assert(condition)
