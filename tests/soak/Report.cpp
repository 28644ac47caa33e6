#include "soak/Report.h"

#include "apps/terminal/Format.h"

#include <support/ThreadStatus.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <malloc.h>
#include <vector>

namespace timingwheel::soak {

using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using terminal::grouped;
using terminal::readable;

namespace {

constexpr seconds kSaysEach{5};

using Row = std::vector<std::string>;

/// The first column is text, the others are numbers.
std::string table(std::vector<Row> rows) {
    std::vector<std::size_t> widths(rows.front().size(), 3);
    for (Row const& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (std::size_t line = 0; line < rows.size(); ++line) {
        out += '|';
        for (std::size_t i = 0; i < widths.size(); ++i) {
            std::string const padding(widths[i] - rows[line][i].size(), ' ');
            out += i == 0 ? ' ' + rows[line][i] + padding : ' ' + padding + rows[line][i];
            out += " |";
        }
        out += '\n';
        if (line > 0) continue;
        out += '|';
        for (std::size_t i = 0; i < widths.size(); ++i)
            out += ' ' + std::string(widths[i] - 1, '-') + (i == 0 ? '-' : ':') + " |";
        out += '\n';
    }
    return out;
}

std::string mebibytes(std::int64_t bytes) {
    return terminal::text("%.1f MiB", static_cast<double>(bytes) / 1048576.0);
}

std::string length(nanoseconds time) {
    auto const whole = std::chrono::duration_cast<seconds>(time).count();
    if (whole < 60) return terminal::text("%lld s", static_cast<long long>(whole));
    return terminal::text("%lld min %lld s", static_cast<long long>(whole / 60),
                          static_cast<long long>(whole % 60));
}

}  // namespace

void OfKind::add(Remains const& remains) noexcept {
    ++timers;
    sum += remains.sum;
    periodicRuns += remains.periodicRuns;
    wakeUps += remains.wakeUps;
    auto const& counts = remains.lateness.counts();
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) lateness.add(LatenessHistogram::upperBound(i), counts[i]);
    }
}

void Report::add(Kind kind, Remains const& remains) noexcept {
    kinds_[static_cast<std::size_t>(kind)].add(remains);
}

void Report::goOn(OperationCounts const& ofCallers, std::uint64_t findings) {
    last_ = memoryNow();
    highest_.resident = std::max(highest_.resident, last_.resident);
    highest_.allocated = std::max(highest_.allocated, last_.allocated);
    auto const now = elapsed();
    if (now < minutes{1}) settled_ = last_;
    if (now - said_ < kSaysEach) return;
    said_ = now;
    std::uint64_t timers = 0;
    LedgerSum sum;
    for (OfKind const& kind : kinds_) {
        timers += kind.timers;
        sum += kind.sum;
    }
    std::cout << length(now) << ": " << grouped(timers) << " timers, " << grouped(ofCallers.sum())
              << " operations, " << grouped(sum.ran) << " fired, " << grouped(sum.cancelled)
              << " cancelled, " << grouped(sum.returned) << " returned, " << grouped(sum.rejected)
              << " rejected, " << mebibytes(last_.resident) << ", " << findings << " violations"
              << std::endl;
}

std::string Report::operationsTable() const {
    std::vector<Row> rows{{"operation", "times"}};
    for (std::size_t i = 0; i < kOperations; ++i) {
        rows.push_back({kNamesOfOperations[i], grouped(operations_.of(static_cast<Operation>(i)))});
    }
    rows.push_back({"all", grouped(operations_.sum())});
    return table(std::move(rows));
}

std::string Report::outcomesTable() const {
    std::vector<Row> rows{{"timer", "timers made", "accepted", "fired", "cancelled", "returned",
                           "rejected", "periodic runs"}};
    OfKind all;
    auto const row = [&](std::string const& name, OfKind const& of) {
        rows.push_back({name, grouped(of.timers), grouped(of.sum.accepted), grouped(of.sum.ran),
                        grouped(of.sum.cancelled), grouped(of.sum.returned),
                        grouped(of.sum.rejected), grouped(of.periodicRuns)});
    };
    for (std::size_t i = 0; i < kKinds; ++i) {
        OfKind const& of = kinds_[i];
        row(toString(static_cast<Kind>(i)), of);
        all.timers += of.timers;
        all.sum += of.sum;
        all.periodicRuns += of.periodicRuns;
    }
    row("all", all);
    return table(std::move(rows));
}

std::string Report::kindsTable() const {
    std::vector<Row> rows{{"late by", "p50", "p99", "p99.9", "max", "wake-ups"}};
    for (std::size_t i = 0; i < kKinds; ++i) {
        OfKind const& of = kinds_[i];
        bool const isReal = of.lateness.count() > 0;
        auto const late = [&](double fraction) {
            return isReal ? readable(of.lateness.quantile(fraction)) : std::string{"-"};
        };
        rows.push_back({toString(static_cast<Kind>(i)), late(0.5), late(0.99), late(0.999),
                        late(1.0), grouped(of.wakeUps)});
    }
    return table(std::move(rows));
}

Report::Memory Report::memoryNow() {
    Memory memory{.resident = test::residentMemory(), .allocated = 0};
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 const told = mallinfo2();
    memory.allocated = static_cast<std::int64_t>(told.uordblks + told.hblkhd);
#endif
    return memory;
}

std::string Report::inWords(Memory memory) {
    return memory.allocated == 0
               ? mebibytes(memory.resident)
               : mebibytes(memory.resident) + " (" + mebibytes(memory.allocated) + " allocated)";
}

std::string Report::memory() const {
    bool const isLong = elapsed() > minutes{2};
    return "Resident memory, between two timers: " +
           (isLong ? inWords(settled_) + " after the first minute, " : std::string{}) +
           inWords(last_) + " at the end, " + inWords(highest_) + " at most.\n";
}

std::string Report::text(std::uint64_t findings) const {
    LedgerSum sum;
    for (OfKind const& kind : kinds_) sum += kind.sum;
    std::string out =
        terminal::text("%zu caller threads, seed %llu, %s.\n\n", kCallers,
                       static_cast<unsigned long long>(seed_), length(elapsed()).c_str());
    out += operationsTable() + '\n' + outcomesTable() + '\n' + kindsTable() + '\n';
    out +=
        "Late: after the deadline that was asked for. Ticks from 1 us to 10 ms, tolerances up to "
        "20 ms, wheels\nof two slots whose 20 ms take 14 levels, and bursts of the callers, who "
        "are "
        "more than the cores, are in it.\n\n";
    out += "Without an outcome: " + grouped(sum.none) +
           ". With more than one: " + grouped(sum.several) + ". Early: " + grouped(sum.early) +
           ".\n" + memory();
    out +=
        findings == 0 ? "**Violations: none.**\n" : "**Violations: " + grouped(findings) + ".**\n";
    return out;
}

}  // namespace timingwheel::soak
