#include "components/kafka/daemon/SipHash.h"

#include <gtest/gtest.h>

#include <string>

namespace timingwheel::test::kafka {
namespace {

using timingwheel::kafka::SipHash;

// The vectors of the reference implementation.
TEST(SipHash, IsThatOfItsAuthors) {
    SipHash const hash{0x0706050403020100, 0x0f0e0d0c0b0a0908};
    EXPECT_EQ(hash(""), (SipHash::Value{0xe6a825ba047f81a3, 0x930255c71472f66d}));
    EXPECT_EQ(hash(std::string(1, '\0')), (SipHash::Value{0x44af996bd8c187da, 0x45fc229b11597634}));
    EXPECT_NE(hash("12345678"), hash("1234567"));
    EXPECT_NE(SipHash{}("a"), SipHash{}("a")) << "the key is not by chance";
}

}  // namespace
}  // namespace timingwheel::test::kafka
