#pragma once

#include "Protocol.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

#include <array>
#include <chrono>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <sys/resource.h>
#include <sys/socket.h>
#include <vector>

// The service, but for the timeout. What is closed stays in memory, so no handler outlives it.
template <template <class...> class Timeout>
class Server {
public:
    Server(boost::asio::io_context& context, Sizes const& sizes)
        : context_{context},
          sizes_{sizes},
          udp_{context, {boost::asio::ip::address_v4::loopback(), 0}},
          sessions_(sizes.sessions + sizes.storm) {
        udp_.set_option(boost::asio::socket_base::receive_buffer_size{1 << 22});
        udp_.non_blocking(true);
        receive();
    }

    std::uint16_t port() const { return udp_.local_endpoint().port(); }

private:
    struct Session {
        Session(Server& owner, std::chrono::milliseconds idle)
            : server{owner}, timeout{idle}, timer{owner.context_, *this} {}

        void touch() {
            lastSeen = now();
            timer.pushBack(timeout);
        }
        void onTimeout() {
            auto const time = now();
            auto& state = server.state_;
            if (time < lastSeen + std::chrono::nanoseconds{timeout}.count()) ++state.early;
            state.lastClose = time;
            --state.open;
            ++state.closed;
            isOpen = false;
        }

        Server& server;
        std::chrono::milliseconds timeout;
        std::int64_t lastSeen = 0;
        bool isOpen = true;
        Timeout<Session> timer;
    };

    void receive() {
        udp_.async_wait(boost::asio::socket_base::wait_type::wait_read, [this](auto error) {
            if (error) return;
            serve();
            receive();
        });
    }

    // One batch; then others have their turn.
    void serve() {
        for (std::size_t i = 0; i < kBatch; ++i) {
            parts_[i] = {&packets_[i], sizeof(Packet)};
            messages_[i] = {};
            messages_[i].msg_hdr.msg_name = &from_[i];
            messages_[i].msg_hdr.msg_namelen = sizeof from_[i];
            messages_[i].msg_hdr.msg_iov = &parts_[i];
            messages_[i].msg_hdr.msg_iovlen = 1;
        }
        int const socket = udp_.native_handle();
        int const n = ::recvmmsg(socket, messages_.data(), kBatch, MSG_DONTWAIT, nullptr);
        for (int i = 0; i < n; ++i) take(static_cast<std::size_t>(i));
        for (int sent = 0; sent < n;) {
            auto const count = static_cast<unsigned>(n - sent);
            int const more = ::sendmmsg(socket, messages_.data() + sent, count, 0);
            if (more <= 0) break;
            sent += more;
        }
    }

    void take(std::size_t i) {
        Packet const& packet = packets_[i];
        if (packet.kind == Packet::kTouch) return touch(packet.session, sizes_.idle);
        if (packet.kind == Packet::kStorm) {
            for (std::uint32_t k = 0; k < sizes_.storm; ++k)
                touch(sizes_.sessions + k, sizes_.stormIdle);
            state_.stormDue = now() + std::chrono::nanoseconds{sizes_.stormIdle}.count();
            return;
        }
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        auto const of = [](timeval t) { return t.tv_sec * 1'000'000'000LL + t.tv_usec * 1'000LL; };
        state_.processorTime = of(usage.ru_utime) + of(usage.ru_stime);
        auto const memory = ::mallinfo2();
        state_.allocated = static_cast<std::int64_t>(memory.uordblks + memory.hblkhd);
        told_ = state_;
        parts_[i] = {&told_, sizeof told_};
    }

    void touch(std::uint32_t id, std::chrono::milliseconds idle) {
        if (id >= sessions_.size()) return;
        auto& session = sessions_[id];
        if (!session) {
            session = std::make_unique<Session>(*this, idle);
            ++state_.open;
        }
        if (session->isOpen) session->touch();
    }

    static constexpr std::size_t kBatch = 64;

    boost::asio::io_context& context_;
    Sizes sizes_;
    boost::asio::ip::udp::socket udp_;
    std::vector<std::unique_ptr<Session>> sessions_;
    State state_;
    State told_;
    std::array<Packet, kBatch> packets_{};
    std::array<iovec, kBatch> parts_{};
    std::array<sockaddr_storage, kBatch> from_{};
    std::array<mmsghdr, kBatch> messages_{};
};
