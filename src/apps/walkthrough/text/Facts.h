#pragma once

#include <string>

namespace walkthrough {

/// Everything that docs/walkthrough.md says in numbers, as one JSON document. All of it is what the
/// library's wheels did, or what the ways (Ways.h) counted.
std::string facts();

}  // namespace walkthrough
