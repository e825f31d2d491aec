#include "studies/dispatch/dispatcher.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "studies/dispatch/least_squares.h"

namespace gpu_engine::bench {
namespace {

constexpr std::array<Side, kSides> both_sides = {Side::processor, Side::device};

Side other(Side side) {
    return side == Side::processor ? Side::device : Side::processor;
}

std::size_t number(Side side) {
    return static_cast<std::size_t>(side);
}

// Would the job be late on either side if it were begun now?
bool is_late(const Job &job, double now) {
    return now + std::min(job.cost[0], job.cost[1]) > job.deadline;
}

}  // namespace

// ---- Estimates --------------------------------------------------------------------------------------------

std::array<double, CostModel::kCoefficients> CostModel::terms_of(const QueryFeatures &query) {
    return {1, query.shortest, query.second_shortest, query.sum, query.terms};
}

CostModel CostModel::fit(std::span<const QueryFeatures> queries, std::span<const double> milliseconds) {
    CostModel model;
    if (queries.empty()) {
        return model;
    }
    LeastSquares<kCoefficients> samples;
    for (std::size_t query = 0; query < queries.size(); ++query) {
        samples.add(terms_of(queries[query]), milliseconds[query]);
    }
    model.coefficients_ = samples.fit();
    model.least_ = *std::min_element(milliseconds.begin(), milliseconds.end());
    return model;
}

double CostModel::estimate(const QueryFeatures &query) const {
    const auto terms = terms_of(query);
    double milliseconds = 0;
    for (std::size_t i = 0; i < kCoefficients; ++i) {
        milliseconds += coefficients_[i] * terms[i];
    }
    return std::max(milliseconds, least_);
}

// ---- Queues -----------------------------------------------------------------------------------------------

bool Dispatcher::ByAdvantage::operator()(const Job &a, const Job &b) const {
    // Each job has a ratio of its own. If products of two jobs' costs were compared instead, rounding could
    // give three jobs no order.
    const auto ratio = [](const Job &job) { return job.on(Side::processor) / job.on(Side::device); };
    return std::pair(ratio(a), a.id) < std::pair(ratio(b), b.id);
}

bool Dispatcher::ByDeadline::operator()(const Job &a, const Job &b) const {
    return std::tie(a.deadline, a.id) < std::tie(b.deadline, b.id);
}

void Dispatcher::Queue::add(const Job &job) {
    const auto place = by_advantage.insert(job).first;
    try {
        by_deadline.insert(job);
    } catch (...) {
        by_advantage.erase(place);
        throw;
    }
    for (std::size_t side = 0; side < kSides; ++side) {
        cost[side] += job.cost[side];
    }
}

Job Dispatcher::Queue::remove(const Job &job) {
    const Job removed = job;
    by_advantage.erase(removed);
    by_deadline.erase(removed);
    for (std::size_t side = 0; side < kSides; ++side) {
        cost[side] = by_deadline.empty() ? 0 : cost[side] - removed.cost[side];
    }
    return removed;
}

void Dispatcher::Queue::move(const Job &job, Queue *to) {
    const Job moved = job;
    to->by_advantage.insert(by_advantage.extract(moved));
    to->by_deadline.insert(by_deadline.extract(moved));
    for (std::size_t side = 0; side < kSides; ++side) {
        to->cost[side] += moved.cost[side];
        cost[side] = by_deadline.empty() ? 0 : cost[side] - moved.cost[side];
    }
}

const Job &Dispatcher::Queue::best_for(Side side) const {
    return side == Side::processor ? *by_advantage.begin() : *by_advantage.rbegin();
}

std::size_t Dispatcher::Queues::size() const {
    return own[0].by_deadline.size() + own[1].by_deadline.size() + either.by_deadline.size();
}

std::size_t Dispatcher::waiting() const {
    return in_time_.size() + late_.size();
}

Dispatcher::Queue &Dispatcher::queue_for(Queues &queues, const Job &job) const {
    for (const Side side : both_sides) {
        if (job.on(other(side)) >= settings_.advantage * job.on(side)) {
            return queues.own[number(side)];
        }
    }
    return queues.either;
}

void Dispatcher::add(const Job &job) {
    queue_for(in_time_, job).add(job);
}

void Dispatcher::remove(const Job &job) {
    for (Queues *queues : {&in_time_, &late_}) {
        Queue &queue = queue_for(*queues, job);
        if (queue.by_deadline.contains(job)) {
            queue.remove(job);
            return;
        }
    }
}

void Dispatcher::give_up_late(double now) {
    for (Queue *queue : {&in_time_.own[0], &in_time_.own[1], &in_time_.either}) {
        while (!queue->by_deadline.empty()) {
            const Job &job = *queue->by_deadline.begin();
            if (!is_late(job, now)) {
                break;
            }
            queue->move(job, &queue_for(late_, job));
        }
    }
}

std::optional<Job> Dispatcher::take_urgent(Side side, double now) {
    Queue *found = nullptr;
    for (Queue *queue : {&in_time_.own[number(side)], &in_time_.either}) {
        if (queue->by_deadline.empty()) {
            continue;
        }
        const Job &job = *queue->by_deadline.begin();
        const double slack = job.deadline - (now + job.on(side));
        if (slack >= 0 && slack < settings_.urgent_ms &&
            (found == nullptr || ByDeadline()(job, *found->by_deadline.begin()))) {
            found = queue;
        }
    }
    return found != nullptr ? std::optional(found->remove(*found->by_deadline.begin())) : std::nullopt;
}

std::optional<Job> Dispatcher::take(Queues &queues, Side side, double now) const {
    Queue &own = queues.own[number(side)];
    if (!own.by_deadline.empty()) {
        return own.remove(*own.by_deadline.begin());
    }
    if (!queues.either.by_deadline.empty()) {
        return queues.either.remove(queues.either.best_for(side));
    }
    Queue &others = queues.own[number(other(side))];
    if (others.by_deadline.empty()) {
        return std::nullopt;
    }
    // A job is only stolen if it is finished here before the other side would be through with its queue.
    const Job &job = others.best_for(side);
    const double others_need = others.cost[number(other(side))] / settings_.workers[number(other(side))];
    const bool in_time = now + job.on(side) <= job.deadline || is_late(job, now);
    return job.on(side) < others_need && in_time ? std::optional(others.remove(job)) : std::nullopt;
}

std::optional<Job> Dispatcher::take(Side side, double now) {
    give_up_late(now);
    std::optional<Job> job = take_urgent(side, now);
    if (!job) {
        job = take(in_time_, side, now);
    }
    return job ? job : take(late_, side, now);
}

}  // namespace gpu_engine::bench
