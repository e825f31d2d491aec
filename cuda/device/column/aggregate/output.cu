// Reading groups, and what groups of a result others must know of.
#include "device/column/aggregate/output.h"

#include <vector>

#include "device/column/aggregate/top.h"

namespace gpu_engine::device {

Status DeviceAggregateOutput::read_groups(Stream &stream, std::uint64_t first, std::uint64_t count,
                                          std::uint64_t *records) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        if (table_ != nullptr && groups_.size() == 0) {
            groups_ = device::list_groups(call, table_->filled, table_->program->view(), group_count_);
            groups_.set_stream(engine_.release_stream());
        }
        return read(call, groups_, group_count_, words_, first, count, records);
    });
}

Status DeviceAggregateOutput::read_unresolved(Stream &stream, std::uint64_t first, std::uint64_t count,
                                              std::uint64_t *records) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        return read(call, unresolved_, unresolved_count_, words_ + 1, first, count, records);
    });
}

Status DeviceAggregateOutput::read(const Call &call, const Buffer<std::uint64_t> &from,
                                   std::uint64_t records_there, std::uint64_t words, std::uint64_t first,
                                   std::uint64_t count, std::uint64_t *records) const {
    if (first > records_there || count > records_there - first) {
        return make_status(StatusCode::invalid_argument, "there are no such groups");
    }
    call.copy(records, static_cast<const std::uint64_t *>(from.data()) + first * words, count * words);
    call.wait();
    return Status{};
}

Status DeviceAggregateOutput::list_groups(Stream &stream) noexcept {
    return guarded([&] {
        if (table_ != nullptr) {
            const Call call(engine_, stream);
            groups_ = device::list_groups(call, table_->filled, table_->program->view(), group_count_);
            call.wait();
            groups_.set_stream(engine_.release_stream());
            table_.reset();
        }
        return Status{};
    });
}

// Returns the groups as kernels go over them.
FilledTable DeviceAggregateOutput::filled(std::uint32_t key_words) const {
    if (table_ != nullptr) {
        return table_->filled;
    }
    FilledTable filled = {};
    filled.table.records = reinterpret_cast<Word *>(groups_.data());
    filled.table.slots = group_count_;
    filled.table.stride = words_;
    filled.table.key_words = filled.key_words = key_words;
    filled.records = group_count_;
    filled.words = words_;
    filled.is_list = true;
    return filled;
}

Status DeviceAggregateOutput::mark_keys(Stream &stream, const AggregateProgram &program,
                                        KeyMarks *marks) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        if (table_ != nullptr && table_->marks.size() > 0) {
            call.copy(marks, static_cast<const KeyMarks *>(table_->marks.data()), 1);
            call.wait();
            return Status{};
        }
        const Buffer<KeyMarks> found = call.buffer<KeyMarks>(1);
        mark_groups_later(call, filled(program.key_words), program, found.data(), call.result());
        call.copy(marks, static_cast<const KeyMarks *>(found.data()), 1);
        call.wait();
        return Status{};
    });
}

Status DeviceAggregateOutput::leave_out(Stream &stream, const AggregateProgram &program,
                                        const SharedKeys &shared, const AggregateTop &top,
                                        std::unique_ptr<AggregateOutput> *rest) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        check_leaving(program, top);
        if (unresolved_count_ > 0) {
            return make_status(StatusCode::invalid_argument, "the groups aren't certain");
        }
        auto output = std::make_unique<DeviceAggregateOutput>(engine_, words_);
        // The marks have the spans that both results have, and then those that only this one has.
        std::vector<std::uint64_t> marks(2 * key_mark_words);
        bool has_shared = false;
        for (std::uint32_t word = 0; word < key_mark_words; ++word) {
            marks[word] = shared.marks[word] & shared.own[word];
            marks[key_mark_words + word] = shared.own[word] & ~shared.marks[word];
            has_shared = has_shared || marks[word] != 0;
        }
        const Buffer<std::uint64_t> marks_there = call.buffer<std::uint64_t>(marks.size());
        call.copy(marks_there.data(), static_cast<const std::uint64_t *>(marks.data()), marks.size());
        FilledTable common = filled(program.key_words);
        common.marked = {marks_there.data(), key_of(program, shared.key)};
        FilledTable own = common;
        own.marked.marks += key_mark_words;
        const std::uint64_t shared_count = has_shared ? count_groups(call, common) : 0;
        // None of the sums in listed records are narrow.
        const ProgramView of_program = table_ != nullptr ? table_->program->view() : ProgramView{};
        const bool is_narrow = table_ != nullptr && is_narrow_top(program, top, table_->rows);
        Buffer<std::uint64_t> listed;
        std::uint64_t groups = 0;
        if (wants_only_counts(top)) {
            output->set_counted(group_count_ - shared_count);
        } else {
            listed = list_first_groups(call, own, of_program, top, is_narrow, &groups);
            listed = keep_top(call, top, words_, std::move(listed), &groups);
        }
        if (shared_count > 0) {
            Buffer<std::uint64_t> both = call.buffer<std::uint64_t>((groups + shared_count) * words_);
            call.copy(both.data(), static_cast<const std::uint64_t *>(listed.data()), groups * words_);
            const Buffer<std::uint64_t> some = device::list_groups(call, common, of_program, shared_count);
            call.copy(both.data() + groups * words_, static_cast<const std::uint64_t *>(some.data()),
                      shared_count * words_);
            listed = std::move(both);
            groups += shared_count;
        }
        call.wait();
        output->take(std::move(listed), groups, Buffer<std::uint64_t>(), 0);
        *rest = std::move(output);
        return Status{};
    });
}

}  // namespace gpu_engine::device
