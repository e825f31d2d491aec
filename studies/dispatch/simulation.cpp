#include "studies/dispatch/simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>
#include <random>
#include <vector>

namespace gpu_engine::bench {

namespace {

constexpr std::array<Side, kSides> both_sides = {Side::processor, Side::device};

std::size_t number(Side side) {
    return static_cast<std::size_t>(side);
}

// Distributions of the standard library may differ from one machine to the next; its generator doesn't.
double uniform(std::mt19937_64 &random) {
    return static_cast<double>(random() >> 11) * 0x1p-53;
}

struct Arrival {
    double time;
    std::size_t query;  // of those measured
};

struct Completion {
    double time;
    std::uint64_t arrival;
    Side side;

    bool operator>(const Completion &other) const { return time > other.time; }
};

// Where queries wait after their arrival.
class Waiting {
  public:
    Waiting(std::span<const MeasuredQuery> measured, const Scenario &scenario)
        : measured_(measured), scenario_(scenario), dispatcher_({.workers = scenario.workers}) {
        if (scenario.policy == Policy::fixed_rule) {
            threshold_ = best_threshold(measured);
        }
        if (scenario.policy == Policy::dispatcher) {
            fit();
        }
    }

    void add(const Arrival &arrival, std::uint64_t id) {
        const QueryFeatures &features = measured_[arrival.query].features;
        switch (scenario_.policy) {
            case Policy::processor_only:
                return queues_[number(Side::processor)].push_back(id);
            case Policy::device_only:
                return queues_[number(Side::device)].push_back(id);
            case Policy::fixed_rule:
                return queues_[number(features.sum >= threshold_ ? Side::device : Side::processor)].push_back(
                    id);
            case Policy::dispatcher:
                return dispatcher_.add({id,
                                        arrival.time + scenario_.deadline_ms,
                                        {models_[0].estimate(features), models_[1].estimate(features)}});
        }
    }

    std::optional<std::uint64_t> take(Side side, double now) {
        if (scenario_.policy == Policy::dispatcher) {
            const auto job = dispatcher_.take(side, now);
            return job ? std::optional(job->id) : std::nullopt;
        }
        auto &queue = queues_[number(side)];
        if (queue.empty()) {
            return std::nullopt;
        }
        const std::uint64_t id = queue.front();
        queue.pop_front();
        return id;
    }

  private:
    void fit() {
        std::vector<QueryFeatures> features;
        std::array<std::vector<double>, kSides> milliseconds;
        for (const MeasuredQuery &query : measured_) {
            features.push_back(query.features);
            for (std::size_t side = 0; side < kSides; ++side) {
                milliseconds[side].push_back(query.milliseconds[side]);
            }
        }
        for (std::size_t side = 0; side < kSides; ++side) {
            models_[side] = CostModel::fit(features, milliseconds[side]);
        }
    }

    std::span<const MeasuredQuery> measured_;
    const Scenario &scenario_;
    Dispatcher dispatcher_;
    std::array<CostModel, kSides> models_;
    double threshold_ = 0;
    std::array<std::deque<std::uint64_t>, kSides> queues_;
};

std::vector<Arrival> draw_arrivals(std::size_t measured, const Scenario &scenario) {
    std::mt19937_64 random(scenario.seed);
    std::vector<Arrival> arrivals;
    arrivals.reserve(scenario.queries);
    double time = 0;
    for (std::uint64_t i = 0; i < scenario.queries; ++i) {
        time -= std::log1p(-uniform(random)) * 1000 / scenario.per_second;
        arrivals.push_back({time, static_cast<std::size_t>(uniform(random) * static_cast<double>(measured))});
    }
    return arrivals;
}

}  // namespace

double best_threshold(std::span<const MeasuredQuery> measured) {
    std::vector<MeasuredQuery> queries(measured.begin(), measured.end());
    std::sort(queries.begin(), queries.end(),
              [](const MeasuredQuery &a, const MeasuredQuery &b) { return a.features.sum < b.features.sum; });
    // At first all queries are on the device; then one more at a time goes to the processor.
    double together = 0;
    for (const MeasuredQuery &query : queries) {
        together += query.milliseconds[number(Side::device)];
    }
    double best = 0;
    double least = together;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        together +=
            queries[i].milliseconds[number(Side::processor)] - queries[i].milliseconds[number(Side::device)];
        const bool last_of_its_sum =
            i + 1 == queries.size() || queries[i + 1].features.sum > queries[i].features.sum;
        if (together < least && last_of_its_sum) {
            least = together;
            best = i + 1 == queries.size() ? std::numeric_limits<double>::infinity()
                                           : queries[i + 1].features.sum;
        }
    }
    return best;
}

Outcome simulate(std::span<const MeasuredQuery> measured, const Scenario &scenario) {
    const std::vector<Arrival> arrivals = draw_arrivals(measured.size(), scenario);
    Waiting waiting(measured, scenario);
    std::array<std::uint32_t, kSides> idle = scenario.workers;
    std::priority_queue<Completion, std::vector<Completion>, std::greater<>> running;
    std::vector<double> delays;
    delays.reserve(arrivals.size());
    std::uint64_t on_device = 0;
    double now = 0;
    for (std::uint64_t next = 0; next < arrivals.size() || !running.empty();) {
        if (running.empty() || (next < arrivals.size() && arrivals[next].time <= running.top().time)) {
            now = arrivals[next].time;
            waiting.add(arrivals[next], next);
            ++next;
        } else {
            const Completion done = running.top();
            running.pop();
            now = done.time;
            ++idle[number(done.side)];
            delays.push_back(now - arrivals[done.arrival].time);
        }
        for (const Side side : both_sides) {
            while (idle[number(side)] > 0) {
                const auto id = waiting.take(side, now);
                if (!id) {
                    break;
                }
                --idle[number(side)];
                on_device += side == Side::device ? 1 : 0;
                running.push({now + measured[arrivals[*id].query].milliseconds[number(side)], *id, side});
            }
        }
    }
    Outcome outcome = {};
    if (delays.empty()) {
        return outcome;
    }
    const auto count = static_cast<double>(delays.size());
    std::sort(delays.begin(), delays.end());
    for (const double delay : delays) {
        outcome.mean_ms += delay / count;
    }
    outcome.of_95_ms = delays[(delays.size() - 1) * 95 / 100];
    outcome.in_time =
        static_cast<double>(std::upper_bound(delays.begin(), delays.end(), scenario.deadline_ms) -
                            delays.begin()) /
        count;
    outcome.on_device = static_cast<double>(on_device) / count;
    outcome.per_second = count * 1000 / now;
    return outcome;
}

double capacity(std::span<const MeasuredQuery> measured, const Scenario &scenario) {
    Scenario tried = scenario;
    const auto reached = [&](double per_second) {
        tried.per_second = per_second;
        return simulate(measured, tried).in_time >= 0.95;
    };
    double low = 0;
    double high = 1;
    while (reached(high)) {
        low = high;
        high *= 2;
    }
    while (high - low > 0.01 * high) {
        const double middle = (low + high) / 2;
        (reached(middle) ? low : high) = middle;
    }
    return low;
}

}  // namespace gpu_engine::bench
