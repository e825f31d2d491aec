// Runs of columns that are loaded in parts, each on another engine.
#include <algorithm>
#include <utility>

#include "server/residency/own_objects.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {

using protocol::ReplyResult;

namespace {

LoadInParts &load_of(Spread &spread, std::uint64_t handle) {
    LoadInParts &load = *object_in_parts(spread.whole(), handle).in_parts;
    if (load.parts.size() != spread.size()) {
        refuse("the array is on other engines");
    }
    return load;
}

// An engine takes TIDs apart in memory of its own.
constexpr std::uint32_t tid_pages_at_once = 128;

// All TIDs have come, so what each part will be is known.
void open_loaders(Spread &spread, LoadInParts &load) {
    spread.run([&](std::size_t i, Work &work) {
        std::unique_ptr<ColumnLoader> &loader = load.parts[i].loader;
        const StoreLayout &layout = load.columns.layout(i);
        check(with_room(work,
                        [&] { return work.engine->column().open_loader(*work.stream, layout, &loader); }));
        const std::vector<char> tids = load.columns.give_tids(i);
        for (std::uint32_t page = 0; page < layout.tid_pages; page += tid_pages_at_once) {
            const std::uint32_t pages = std::min(layout.tid_pages - page, tid_pages_at_once);
            const char *images = tids.data() + std::uint64_t(page) * layout.page_bytes;
            check(with_room(work, [&] { return loader->append_pages(*work.stream, images, pages); }));
        }
    });
}

void append_columns(Spread &spread, LoadInParts &load, const protocol::AppendPages &request,
                    const char *images) {
    ColumnDivider &columns = load.columns;
    const StoreLayout &run = columns.run();
    if (request.layout.page_bytes != run.page_bytes || request.pages > run.pages() - columns.taken_pages()) {
        refuse("pages have another size, or are more than the run has");
    }
    std::uint64_t first = columns.taken_pages();
    std::uint32_t pages = request.pages;
    if (first < run.tid_pages) {
        const auto of_tids =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(pages, run.tid_pages - first));
        columns.take_tids(images, of_tids);
        if (columns.has_all_tids()) {
            open_loaders(spread, load);
        }
        images += std::uint64_t(of_tids) * run.page_bytes;
        first += of_tids;
        pages -= of_tids;
    }
    columns.note_taken(request.pages);
    if (pages == 0) {
        return;
    }
    spread.run([&](std::size_t i, Work &work) {
        const std::vector<char> cut = columns.cut(i, images, first - run.tid_pages, pages);
        const auto full = static_cast<std::uint32_t>(cut.size() / run.page_bytes);
        if (full > 0) {
            check(with_room(
                work, [&] { return load.parts[i].loader->append_pages(*work.stream, cut.data(), full); }));
        }
    });
}

}  // namespace

void spread_begin_column(Spread &spread, const protocol::BeginColumn &request, protocol::BeginReply &reply) {
    Work &work = spread.whole();
    OwnObject own;
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    std::vector<NewMirrorPart> room;
    own.in_parts =
        std::make_unique<LoadInParts>(work.server().transfer_memory(), request.layout, *work.shares);
    for (const RunShare &share : *work.shares) {
        Engine &engine = *work.server().engines().get(share.held_by);
        const std::uint64_t bytes =
            engine.column().store_bytes(layout_of_rows(request.layout, share.entries));
        room.push_back({share.held_by, &engine.memory(), bytes, bytes});
        own.in_parts->parts.push_back({share.held_by, share.first, nullptr});
    }
    require_room_for_columns(work, own, request.layout, std::move(room));
    reply.handle = add_own_object(work, std::move(own));
}

void spread_append_pages(Spread &spread, const protocol::AppendPages &request, protocol::ReplyHeader &) {
    LoadInParts &load = load_of(spread, request.handle);
    const std::uint64_t bytes = std::uint64_t(request.pages) * request.layout.page_bytes;
    const char *images = spread.whole().connection.buffer.part<char>(request.offset, bytes);
    if (!load.is_valid) {
        refuse("a part of the run could not be loaded");
    }
    load.is_valid = false;
    append_columns(spread, load, request, images);
    append_strings(object_in_parts(spread.whole(), request.handle), images, request.pages);
    load.is_valid = true;
    spread.whole().items = request.pages;
    spread.whole().bytes = bytes;
}

void spread_finish(Spread &spread, const protocol::HandleRequest &request, protocol::HandleReply &reply) {
    Work &work = spread.whole();
    LoadInParts &load = load_of(spread, request.handle);
    // The object no longer belongs to the connection from here on, so it ends whatever fails.
    auto node = work.connection.objects.extract(request.handle);
    if (!load.is_valid || load.columns.taken_pages() != load.columns.run().pages()) {
        refuse("pages of the run are missing");
    }
    std::vector<MirrorPart> parts(load.parts.size());
    spread.run([&](std::size_t i, Work &its_work) {
        std::unique_ptr<ColumnStore> store;
        check(load.parts[i].loader->finish(*its_work.stream, &store));
        parts[i] = {load.parts[i].held_by, load.parts[i].first, AnyObject(std::move(store))};
    });
    for (const MirrorPart &part : parts) {
        describe(part.object, reply);
    }
    work.items = reply.entries;
    work.bytes = reply.bytes;
    make_mirror(work, std::move(parts), node.mapped().name, node.mapped().holder,
                node.mapped().strings.get());
}

void spread_set_dead(Spread &spread, const protocol::SetDead &request, protocol::ReplyHeader &reply) {
    Work &work = spread.whole();
    const std::shared_ptr<Mirror> mirror =
        work.server().mirrors().find(work.engine_name, request.name, work.purpose);
    // It may have gone since these engines were chosen, and others have the run.
    bool is_here = mirror != nullptr && mirror->parts.size() == spread.size();
    for (std::size_t i = 0; is_here && i < spread.size(); ++i) {
        is_here = mirror->parts[i].held_by == spread.work(i).id;
    }
    if (!is_here) {
        set_result(reply, ReplyResult::not_resident);
        reply.lacking = 1;
        return;
    }
    const std::uint64_t *bitmap = bitmap_of(work, *mirror, request);
    spread.run([&](std::size_t i, Work &its_work) {
        set_dead_of(its_work, mirror->parts[i], bitmap, request.version);
    });
    work.items = 1;
    work.bytes = request.words * sizeof(std::uint64_t);
}

}  // namespace gpu_engine::server
