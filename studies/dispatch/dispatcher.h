// Which processor computes a query: the scheduler of "Using Graphics Processors for High Performance IR Query
// Processing" (Ding, He, Yan and Suel, WWW 2009). The time that a query takes on each side is estimated from
// its lists' lengths. It waits in the queue of the side that is much better at it, or in a queue for either
// side. A side with nothing to do helps the other, and no query waits beyond its deadline for others' sake.
//
// The dispatcher only decides: it has no threads and no clock. Times are milliseconds since any one moment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>

namespace gpu_engine::bench {

enum class Side : std::uint8_t { processor, device };
inline constexpr std::size_t kSides = 2;

// What a query's cost is estimated from: the lengths of its inverted lists.
struct QueryFeatures {
    double shortest;
    double second_shortest;  // with one list the same as the shortest
    double sum;
    double terms;
};

// Milliseconds as a linear function of the features.
class CostModel {
  public:
    // Fits the model by least squares. `milliseconds` has one time for each query. Estimates are never less
    // than the shortest time that was measured; without any queries, all estimates are 0.
    static CostModel fit(std::span<const QueryFeatures> queries, std::span<const double> milliseconds);

    double estimate(const QueryFeatures &query) const;

  private:
    static constexpr std::size_t kCoefficients = 5;
    static std::array<double, kCoefficients> terms_of(const QueryFeatures &query);

    std::array<double, kCoefficients> coefficients_ = {};
    double least_ = 0;
};

struct Job {
    std::uint64_t id;  // ascending
    double deadline;
    std::array<double, kSides> cost;  // estimated milliseconds on each side, above 0

    double on(Side side) const { return cost[static_cast<std::size_t>(side)]; }
};

class Dispatcher {
  public:
    struct Settings {
        std::array<std::uint32_t, kSides> workers = {1, 1};
        // A query waits for one side alone when the other side would take this many times as long.
        double advantage = 2;
        // A query goes first when waiting this much longer would make it miss its deadline.
        double urgent_ms = 50;
    };

    explicit Dispatcher(const Settings &settings) : settings_(settings) {}

    void add(const Job &job);
    // Removes and returns the query that a free worker of this side should compute now. Returns nothing when
    // the worker should wait for the next query.
    std::optional<Job> take(Side side, double now);
    // Removes a query that was added and not yet taken, because nobody wants its answer any more.
    void remove(const Job &job);
    std::size_t waiting() const;

  private:
    struct ByAdvantage {
        bool operator()(const Job &a, const Job &b) const;
    };
    struct ByDeadline {
        bool operator()(const Job &a, const Job &b) const;
    };
    // A set of jobs, sorted in two orders.
    struct Queue {
        std::set<Job, ByAdvantage> by_advantage;  // the processor's best first, the device's last
        std::set<Job, ByDeadline> by_deadline;
        std::array<double, kSides> cost = {};  // of all together

        void add(const Job &job);
        Job remove(const Job &job);
        // Moves a job to another queue without allocating memory.
        void move(const Job &job, Queue *to);
        const Job &best_for(Side side) const;
    };
    struct Queues {
        std::array<Queue, kSides> own;
        Queue either;

        std::size_t size() const;
    };

    Queue &queue_for(Queues &queues, const Job &job) const;
    // Moves jobs that can no longer meet their deadlines to `late_`, so that they don't delay the others.
    void give_up_late(double now);
    std::optional<Job> take_urgent(Side side, double now);
    std::optional<Job> take(Queues &queues, Side side, double now) const;

    Settings settings_;
    Queues in_time_;
    Queues late_;
};

}  // namespace gpu_engine::bench
