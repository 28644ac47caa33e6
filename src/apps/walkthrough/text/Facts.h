#pragma once

#include <string>

namespace walkthrough {

/// All numbers of docs/walkthrough.md, as one JSON document. The library's wheels produced them, or
/// the ways (Ways.h) counted them.
std::string facts();

}  // namespace walkthrough
