#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace timingwheel::inline v1::kafka {

/// A hash of 128 bits by a secret key: whoever chooses the texts cannot make two meet.
///
/// Source  SipHash-2-4 with 128 bits: Aumasson and Bernstein 2012, github.com/veorq/SipHash
class SipHash {
public:
    struct Value {
        std::uint64_t low;
        std::uint64_t high;

        friend bool operator==(Value, Value) = default;
    };

    /// A key by chance.
    SipHash() : SipHash{random(), random()} {}
    SipHash(std::uint64_t key0, std::uint64_t key1) noexcept : key0_{key0}, key1_{key1} {}

    Value operator()(std::string_view text) const noexcept {
        State state{key0_ ^ 0x736f6d6570736575, key1_ ^ 0x646f72616e646f6d ^ 0xee,
                    key0_ ^ 0x6c7967656e657261, key1_ ^ 0x7465646279746573};
        std::size_t const whole = text.size() / 8 * 8;
        for (std::size_t i = 0; i < whole; i += 8) state.take(wordOf(text.substr(i, 8)));
        state.take(wordOf(text.substr(whole)) | static_cast<std::uint64_t>(text.size()) << 56);
        state.v2 ^= 0xee;
        std::uint64_t const low = state.finish();
        state.v1 ^= 0xdd;
        return {low, state.finish()};
    }

private:
    struct State {
        std::uint64_t v0, v1, v2, v3;

        void take(std::uint64_t word) noexcept {
            v3 ^= word;
            rounds(2);
            v0 ^= word;
        }
        std::uint64_t finish() noexcept {
            rounds(4);
            return v0 ^ v1 ^ v2 ^ v3;
        }
        void rounds(int count) noexcept {
            for (int i = 0; i < count; ++i) {
                v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
                v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
                v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
                v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
            }
        }
    };

    /// Of up to eight bytes, the first the lowest.
    static std::uint64_t wordOf(std::string_view bytes) noexcept {
        std::uint64_t word = 0;
        if constexpr (std::endian::native == std::endian::little) {
            if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
        } else {
            for (std::size_t i = 0; i < bytes.size(); ++i)
                word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
        }
        return word;
    }
    static std::uint64_t random() {
        std::random_device device;
        return std::uint64_t{device()} << 32 | device();
    }

    std::uint64_t key0_;
    std::uint64_t key1_;
};

}  // namespace timingwheel::inline v1::kafka
