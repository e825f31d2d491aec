#include "server/requests/spread.h"

namespace gpu_engine::server {

std::span<const Status> Spread::try_run(const Body &body) {
    std::vector<char> busy(parts_.size(), 0);
    at_once_(parts_.size(), [&](std::size_t part) {
        bool is_busy = false;
        statuses_[part] = on_engine_(
            parts_[part], [&] { body(part, parts_[part]); }, &is_busy);
        busy[part] = is_busy ? 1 : 0;
    });
    if (std::find(busy.begin(), busy.end(), 1) != busy.end()) {
        throw Busy{};
    }
    // A failure counts more than a lack of space, which another attempt may cure.
    for (std::size_t part = 0; part < parts_.size(); ++part) {
        if (statuses_[part].code != StatusCode::insufficient_space) {
            require(part);
        }
    }
    return statuses_;
}

void Spread::run(const Body &body) {
    try_run(body);
    for (std::size_t part = 0; part < parts_.size(); ++part) {
        require(part);
    }
}

void Spread::run_one(std::size_t part, const std::function<void(Work &)> &body) {
    bool is_busy = false;
    statuses_[part] = on_engine_(
        parts_[part], [&] { body(parts_[part]); }, &is_busy);
    if (is_busy) {
        throw Busy{};
    }
    require(part);
}

void Spread::require(std::size_t part) {
    if (!statuses_[part].ok()) {
        failed_ = part;
        throw Failure{statuses_[part]};
    }
}

std::vector<double> entries_by_part(Spread &spread) {
    std::vector<double> entries(spread.size(), 0);
    for (std::size_t part = 0; part < spread.size(); ++part) {
        for (std::size_t run = 0; run < spread.runs().size(); ++run) {
            entries[part] += static_cast<double>(spread.runs().entries_on(run, spread.work(part).id));
        }
    }
    return entries;
}

void place_parts(const std::vector<double> &weights, std::uint64_t results, std::uint64_t capacity,
                 std::vector<PartPlace> *places, std::uint64_t *needed) {
    constexpr std::uint64_t alignment = protocol::buffer_alignment;
    *needed = 0;
    for (const PartPlace &place : *places) {
        *needed += place.needed;
    }
    if (*needed > capacity) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    double all = 0;
    for (const double weight : weights) {
        all += weight + 1;
    }
    const std::uint64_t rest = capacity - *needed;
    std::uint64_t at = results;
    std::uint64_t left = rest;
    for (std::size_t part = 0; part < weights.size(); ++part) {
        const auto share =
            static_cast<std::uint64_t>(static_cast<double>(rest) * ((weights[part] + 1) / all));
        const std::uint64_t more = std::min(share, left) / alignment * alignment;
        left -= more;
        (*places)[part].results = at;
        (*places)[part].capacity = (*places)[part].needed + more;
        at += (*places)[part].capacity;
    }
}

namespace {

template <typename Number>
void add_up_numbers(const TransferBuffer &buffer, std::uint64_t count, const std::vector<PartPlace> &places) {
    Number *sums = buffer.part<Number>(places.front().results, count);
    for (std::size_t part = 1; part < places.size(); ++part) {
        const Number *numbers = buffer.part<Number>(places[part].results, count);
        for (std::uint64_t i = 0; i < count; ++i) {
            sums[i] += numbers[i];
        }
    }
}

}  // namespace

void add_up(const TransferBuffer &buffer, const Sums &sums, const std::vector<PartPlace> &places) {
    if (sums.count == 0) {
        return;
    }
    if (sums.bytes == sizeof(std::uint64_t)) {
        add_up_numbers<std::uint64_t>(buffer, sums.count, places);
    } else {
        add_up_numbers<std::uint32_t>(buffer, sums.count, places);
    }
}

void take_part(const Spread &spread, const Work &work, const protocol::ResultReply &its,
               protocol::ResultReply *reply) {
    for (std::size_t run = 0; run < spread.runs().size(); ++run) {
        if (spread.runs().is_on(run, work.id)) {
            reply->offsets_at[run] = its.offsets_at[run];
            reply->tids_at[run] = its.tids_at[run];
            reply->keys_at[run] = its.keys_at[run];
            reply->found[run] = its.found[run];
        }
    }
    // Each part was given all items, so that their numbers aren't added.
    spread.whole().items = std::max(spread.whole().items, work.items);
    spread.whole().bytes += work.bytes;
}

void take_part(const Spread &spread, const Work &work, const protocol::ColumnReply &its,
               protocol::ColumnReply *reply) {
    for (std::size_t run = 0; run < spread.runs().size(); ++run) {
        if (spread.runs().is_on(run, work.id)) {
            reply->counts_at[run] = its.counts_at[run];
            reply->found[run] = its.found[run];
            reply->found_at[run] = its.found_at[run];
        }
    }
    spread.whole().items += work.items;
    spread.whole().bytes += work.bytes;
}

}  // namespace gpu_engine::server
