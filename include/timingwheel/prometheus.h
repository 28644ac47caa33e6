#pragma once

#include <timingwheel/TimerStatistics.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string_view>

namespace timingwheel::inline v1 {

/// A label of all metrics that a call writes.
struct PrometheusLabel {
    std::string_view name;  ///< [a-zA-Z_][a-zA-Z0-9_]*, and neither `timer`, `le` nor `level`
    std::string_view value;
};

namespace detail {

/// Writes in the text format of Prometheus.
class PrometheusText {
public:
    PrometheusText(std::ostream& out, std::span<TimerStatistics const> timers,
                   std::initializer_list<PrometheusLabel> labels)
        : out_{out}, timers_{timers}, labels_{labels.begin(), labels.size()} {}

    void writeAll() const {
        using S = TimerStatistics;
        count("scheduled_total", "counter", "Timeouts that were accepted.", &S::scheduled);
        count("fired_total", "counter", "Timeouts whose task was entered.", &S::fired);
        count("runs_total", "counter", "Tasks entered; a periodic one counts every time.",
              &S::runs);
        count("cancelled_total", "counter", "Timeouts that were cancelled.", &S::cancelled);
        count("returned_total", "counter", "Timeouts that stop() returned.", &S::returned);
        count("rejected_total", "counter", "Timeouts that the executor refused or dropped.",
              &S::rejected);
        count("rescheduled_total", "counter", "Deadlines that were moved.", &S::rescheduled);
        count("refused_total", "counter", "Schedules refused at the limit of pending timeouts.",
              &S::refused);
        count("wakeups_total", "counter", "How often the driver thread slept and woke.",
              &S::wakeUps);
        cascades();
        count("pending", "gauge", "Timeouts accepted and not run.", &S::pending);
        seconds("longest_run_seconds", "The longest run of a task.", &S::longestRun);
        seconds("max_lateness_seconds", "The latest start of a task.", &S::maxLateness);
        lateness();
    }

private:
    /// Exact, for hundreds of billions of years.
    struct Time {
        Time() = default;
        explicit Time(std::chrono::nanoseconds time) noexcept { add(time, 1); }

        /// Adds `times` times `time`.
        void add(std::chrono::nanoseconds time, std::uint64_t times) noexcept {
            auto const all = static_cast<std::uint64_t>(time.count());
            seconds += times * (all / kSecond);
            // In two steps, since the product may have more than 64 bits.
            std::uint64_t const rest = all % kSecond;
            nanoseconds += times % kSecond * rest;
            seconds += times / kSecond * rest + nanoseconds / kSecond;
            nanoseconds %= kSecond;
        }

        static constexpr std::uint64_t kSecond = 1'000'000'000;
        std::uint64_t seconds = 0;
        std::uint64_t nanoseconds = 0;
    };

    /// 1 us, 4 us, ... 4^17 us (about 5 hours), then all.
    static constexpr std::size_t kBounds = 18;

    void head(std::string_view name, std::string_view type, std::string_view help) const {
        out_ << "# HELP timingwheel_" << name << ' ' << help << "\n# TYPE timingwheel_" << name
             << ' ' << type << '\n';
    }
    void count(std::string_view name, std::string_view type, std::string_view help,
               std::uint64_t TimerStatistics::*member) const {
        head(name, type, help);
        for (TimerStatistics const& timer : timers_) {
            begin(name, timer);
            out_ << "} ";
            putLine(timer.*member);
        }
    }
    void seconds(std::string_view name, std::string_view help,
                 std::chrono::nanoseconds TimerStatistics::*member) const {
        head(name, "gauge", help);
        for (TimerStatistics const& timer : timers_) {
            begin(name, timer);
            out_ << "} ";
            put(Time{timer.*member});
            out_ << '\n';
        }
    }
    void cascades() const {
        head("cascaded_total", "counter", "Timeouts moved down, by the level that they left.");
        for (TimerStatistics const& timer : timers_)
            for (std::size_t level = 1; level < timer.cascaded.size(); ++level) {
                begin("cascaded_total", timer);
                out_ << ",level=\"";
                digits(level);
                out_ << "\"} ";
                putLine(timer.cascaded[level]);
            }
    }
    /// A bucket of ours counts below the first bound that its largest value does not exceed. So no
    /// task is shown as less late than it was.
    void lateness() const {
        head("lateness_seconds", "histogram", "How late tasks began.");
        for (TimerStatistics const& timer : timers_) {
            std::array<std::uint64_t, kBounds> below{};
            std::uint64_t all = 0;
            Time sum;
            auto const& counts = timer.lateness.counts();
            for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
                if (counts[bucket] == 0) continue;
                auto const most = LatenessHistogram::upperBound(bucket);
                all += counts[bucket];
                sum.add(most, counts[bucket]);
                for (std::size_t i = 0; i < kBounds; ++i)
                    if (most <= bound(i)) below[i] += counts[bucket];
            }
            for (std::size_t i = 0; i < kBounds; ++i) {
                begin("lateness_seconds_bucket", timer);
                out_ << ",le=\"";
                put(Time{bound(i)});
                out_ << "\"} ";
                putLine(below[i]);
            }
            begin("lateness_seconds_bucket", timer);
            out_ << ",le=\"+Inf\"} ";
            putLine(all);
            begin("lateness_seconds_sum", timer);
            out_ << "} ";
            put(sum);
            out_ << '\n';
            begin("lateness_seconds_count", timer);
            out_ << "} ";
            putLine(all);
        }
    }

    /// The name and the labels, as far as all metrics have them.
    void begin(std::string_view name, TimerStatistics const& timer) const {
        out_ << "timingwheel_" << name << "{timer=\"";
        value(timer.name);
        for (PrometheusLabel const& label : labels_) {
            out_ << "\"," << label.name << "=\"";
            value(label.value);
        }
        out_ << '"';
    }
    void value(std::string_view text) const {
        for (char const letter : text) {
            if (letter == '\n')
                out_ << "\\n";
            else if (letter == '\\' || letter == '"')
                out_ << '\\' << letter;
            else
                out_ << letter;
        }
    }
    // Independent of the stream's locale and flags.

    void digits(std::uint64_t number) const {
        std::array<char, 20> text{};
        char* const end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
        out_.write(text.data(), end - text.data());
    }
    void putLine(std::uint64_t number) const {
        digits(number);
        out_ << '\n';
    }
    /// Without the zeros at its end.
    void put(Time time) const {
        digits(time.seconds);
        std::array<char, 10> fraction{'.'};
        std::size_t end = 0;
        for (std::size_t i = 9; i > 0; --i, time.nanoseconds /= 10) {
            fraction[i] = static_cast<char>('0' + time.nanoseconds % 10);
            if (end == 0 && fraction[i] != '0') end = i + 1;
        }
        out_ << std::string_view{fraction.data(), end};
    }

    static std::chrono::nanoseconds bound(std::size_t index) noexcept {
        return std::chrono::microseconds{std::int64_t{1} << (2 * index)};
    }

    std::ostream& out_;
    std::span<TimerStatistics const> timers_;
    std::span<PrometheusLabel const> labels_;
};

}  // namespace detail

/// Writes what timers have done in the text format of Prometheus, version 0.0.4. Serve it as
/// `text/plain; version=0.0.4`.
///
///     std::ostringstream body;
///     timingwheel::writePrometheus(body, timer.statistics(), {{"service", "mail"}});
///
/// Each metric has the label `timer`, the timer's name, then yours; a name occurs once in a page,
/// so give all timers to one call. Values are escaped.
///
/// - Counters `timingwheel_scheduled_total`, `_fired_total`, `_runs_total`, `_cancelled_total`,
///   `_returned_total`, `_rejected_total`, `_rescheduled_total`, `_refused_total`,
///   `_wakeups_total`, and `_cascaded_total` with the label `level`.
/// - Gauges `timingwheel_pending`, `_longest_run_seconds` and `_max_lateness_seconds`.
/// - The histogram `timingwheel_lateness_seconds` with 19 buckets: up to 1 us, 4 us, 16 us, ...
///   4^17 us, and all. Each task is counted with the largest lateness of its bucket in
///   TimerStatistics, at most 12.5 % above its own. The sum adds these up.
///
/// Units          seconds
/// Memory         allocates nothing
/// Errors         those of the stream. Names of labels are not checked
inline void writePrometheus(std::ostream& out, std::span<TimerStatistics const> timers,
                            std::initializer_list<PrometheusLabel> labels = {}) {
    detail::PrometheusText{out, timers, labels}.writeAll();
}
inline void writePrometheus(std::ostream& out, TimerStatistics const& timer,
                            std::initializer_list<PrometheusLabel> labels = {}) {
    writePrometheus(out, std::span{&timer, 1}, labels);
}

}  // namespace timingwheel::inline v1
