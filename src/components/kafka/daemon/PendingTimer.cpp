#include "components/kafka/daemon/PendingTimer.h"

#include <cstring>
#include <new>

namespace timingwheel::inline v1::kafka {

namespace {

// A header lies in memory as two lengths, name, value. A length of kNone: it has no value.
constexpr std::uint32_t kNone = 0xffff'ffff;

std::size_t sizeOf(std::vector<Header> const& headers) {
    std::size_t size = 0;
    for (Header const& header : headers)
        size += 2 * sizeof(std::uint32_t) + header.name.size() +
                (header.value ? header.value->size() : 0);
    return size;
}

char* put(char* to, std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return to + bytes.size();
}

char* put(char* to, std::uint32_t number) {
    std::memcpy(to, &number, sizeof number);
    return to + sizeof number;
}

char* put(char* to, std::vector<Header> const& headers) {
    for (Header const& header : headers) {
        std::string_view const text = header.value.value_or(std::string_view{});
        to = put(to, static_cast<std::uint32_t>(header.name.size()));
        to = put(to, header.value ? static_cast<std::uint32_t>(text.size()) : kNone);
        to = put(put(to, header.name), text);
    }
    return to;
}

std::uint32_t numberAt(char const* from) {
    std::uint32_t number = 0;
    std::memcpy(&number, from, sizeof number);
    return number;
}

std::vector<Header> headersIn(char const* from, std::size_t size) {
    std::vector<Header> headers;
    char const* const end = from + size;
    while (from != end) {
        std::uint32_t const nameSize = numberAt(from);
        std::uint32_t const valueSize = numberAt(from + sizeof nameSize);
        char const* const name = from + 2 * sizeof nameSize;
        char const* const value = name + nameSize;
        Header header{{name, nameSize}, std::nullopt};
        if (valueSize != kNone) header.value = std::string_view{value, valueSize};
        headers.push_back(header);
        from = value + (valueSize == kNone ? 0 : valueSize);
    }
    return headers;
}

}  // namespace

PendingTimer::PendingTimer(Command const& command, std::uint32_t target) noexcept
    : at{command.at},
      hasKey_{command.key.has_value()},
      hasValue_{command.value.has_value()},
      idSize_{static_cast<std::uint16_t>(command.id.size())},
      target_{target},
      keySize_{static_cast<std::uint32_t>(command.key.value_or(std::string_view{}).size())},
      headersSize_{static_cast<std::uint32_t>(sizeOf(command.headers))},
      ruleSize_{static_cast<std::uint32_t>(sizeOf(command.rule))},
      valueSize_{static_cast<std::uint32_t>(command.value.value_or(std::string_view{}).size())} {}

PendingTimer::Owner PendingTimer::make(Command const& command, std::uint32_t target) {
    std::string_view const key = command.key.value_or(std::string_view{});
    std::string_view const value = command.value.value_or(std::string_view{});
    std::size_t const size = sizeof(PendingTimer) + command.id.size() + key.size() +
                             sizeOf(command.headers) + sizeOf(command.rule) + value.size();
    void* const memory = ::operator new(size);
    Owner timer{new (memory) PendingTimer{command, target}};
    char* to = static_cast<char*>(memory) + sizeof(PendingTimer);
    to = put(put(to, command.id), key);
    put(put(put(to, command.headers), command.rule), value);
    return timer;
}

void PendingTimer::Free::operator()(PendingTimer* timer) const noexcept {
    if (timer == nullptr) return;
    timer->~PendingTimer();
    ::operator delete(timer);
}

std::optional<std::string_view> PendingTimer::key() const noexcept {
    if (!hasKey_) return std::nullopt;
    return std::string_view{bytes() + idSize_, keySize_};
}

std::optional<std::string_view> PendingTimer::value() const noexcept {
    if (!hasValue_) return std::nullopt;
    return std::string_view{bytes() + valueAt(), valueSize_};
}

std::vector<Header> PendingTimer::headers() const {
    return headersIn(bytes() + headersAt(), headersSize_);
}

std::vector<Header> PendingTimer::rule() const { return headersIn(bytes() + ruleAt(), ruleSize_); }

std::size_t PendingTimer::size() const noexcept {
    // What the allocator adds: its own word, and to the next multiple of 16.
    std::size_t const size = sizeof *this + valueAt() + valueSize_;
    return (size + sizeof(void*) + 15) / 16 * 16;
}

}  // namespace timingwheel::inline v1::kafka
