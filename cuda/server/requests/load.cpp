// Loading runs, and what is dead in them.
#include <algorithm>
#include <type_traits>

#include "server/residency/column_divider.h"
#include "server/requests/grid_loads.h"
#include "server/residency/own_objects.h"
#include "server/requests/request.h"

namespace gpu_engine::server {

using protocol::ReplyResult;

namespace {

TextShape shape_of(const protocol::BeginText &request) {
    if (request.codec >= postings::kCodecs) {
        refuse("lists have no such codec");
    }
    return {request.posting_bytes, request.documents, static_cast<postings::Codec>(request.codec)};
}

template <typename Loader>
std::uint64_t loaded_by(const Loader &loader) {
    if constexpr (std::is_same_v<Loader, TextLoader>) {
        return loader.loaded_documents();
    } else if constexpr (std::is_same_v<Loader, ColumnLoader>) {
        return loader.loaded_pages();
    } else {
        return loader.loaded();
    }
}

// Documents come first, then postings; pages are numbered through both.
Status append_lists(Work &work, TextLoader &loader, const OwnObject &own,
                    const protocol::AppendPages &request, const void *images) {
    constexpr std::uint32_t document_bytes = sizeof(Tid) + 3;
    const PageLayout &layout = request.layout;
    TextPages pages = {images, request.pages, layout.page_bytes, layout.first_byte, own.content_bytes};
    const std::uint32_t per_page = std::max<std::uint32_t>(own.content_bytes / document_bytes, 1);
    const std::uint32_t documents = own.lists.documents;
    const std::uint32_t document_pages = documents / per_page + (documents % per_page != 0 ? 1 : 0);
    if (request.first_page < document_pages) {
        pages.pages = std::min(request.pages, document_pages - request.first_page);
        const Status status = with_room(work, [&] { return loader.append_documents(*work.stream, pages); });
        if (!status.ok() || pages.pages == request.pages) {
            return status;
        }
        pages.images = static_cast<const char *>(images) + std::uint64_t(pages.pages) * layout.page_bytes;
        pages.pages = request.pages - pages.pages;
    }
    return with_room(work, [&] { return loader.append_postings(*work.stream, pages); });
}

// *ordered says whether the entries came in order; without that there is no object.
AnyObject finish_keys(Work &work, OwnObject &own, bool *ordered) {
    return with_key(own.loader.key_bits(), [&]<typename Key>(Key) {
        KaryLoader<Key> &loader = *own.loader.get<Key>();
        // Makes room for the levels. Not having it all isn't fatal, so the result doesn't matter.
        const std::uint64_t bytes = gpu_engine::kary<Key>(*work.engine).array_bytes(loader.entries());
        const std::uint64_t held = loader.entries() * (sizeof(Key) + sizeof(Tid));
        static_cast<void>(
            work.server().mirrors().make_room(work.id, work.engine->memory(), bytes - held, work.purpose));
        std::unique_ptr<KaryArray<Key>> array;
        const Status status = loader.finish(*work.stream, ordered, &array);
        if (!*ordered) {
            return AnyObject();
        }
        check(status);
        return AnyObject(std::move(array));
    });
}

AnyObject finish_columns(Work &work, OwnObject &own) {
    std::unique_ptr<ColumnStore> store;
    check(own.loader.column()->finish(*work.stream, &store));
    return AnyObject(std::move(store));
}

AnyObject finish_lists(Work &work, OwnObject &own) {
    std::unique_ptr<TextIndex> index;
    check(with_room(work, [&] { return own.loader.text()->finish(*work.stream, &index); }));
    return AnyObject(std::move(index));
}

}  // namespace

std::uint64_t load_bytes(Engine &engine, const protocol::BeginKary &request) {
    return with_key(request.key_bits, [&]<typename Key>(Key) {
        if (request.entries > Kary<Key>::max_entries) {
            refuse("more entries than an array can hold");
        }
        return kary<Key>(engine).array_bytes(request.entries);
    });
}

std::uint64_t load_bytes(Engine &, const protocol::BeginGrid &request) {
    // The memory that building takes is asked for at the beginning: unless something could be evicted for it,
    // the load would fail at its end.
    return grid_bytes_while_built(columns_of(request), request.entries);
}

std::uint64_t load_bytes(Engine &engine, const protocol::BeginColumn &request) {
    return engine.column().store_bytes(request.layout);
}

DivisibleRun divisible(Engine &engine, const protocol::BeginColumn &request) {
    if (load_bytes(engine, request) == 0) {
        return {};
    }
    return {request.layout.rows, [&engine, &request](std::uint64_t rows) {
                return engine.column().store_bytes(layout_of_rows(request.layout, rows));
            }};
}

std::uint64_t load_bytes(Engine &engine, const protocol::BeginText &request) {
    return engine.text().index_bytes(shape_of(request));
}

void handle_begin_kary(Work &work, const protocol::BeginKary &request, protocol::BeginReply &reply) {
    OwnObject own;
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    with_key(request.key_bits, [&]<typename Key>(Key) {
        const std::uint64_t bytes = load_bytes(*work.engine, request);
        require_room(work, own, {{work.id, &work.engine->memory(), bytes, bytes}});
        std::unique_ptr<KaryLoader<Key>> loader;
        check(gpu_engine::kary<Key>(*work.engine).open_loader(*work.stream, request.entries, &loader));
        own.loader = AnyLoader(std::move(loader));
    });
    reply.handle = add_own_object(work, std::move(own));
}

void handle_begin_grid(Work &work, const protocol::BeginGrid &request, protocol::BeginReply &reply) {
    static_assert(protocol::max_columns == max_grid_columns);
    OwnObject own;
    own.columns = columns_of(request);
    own.grid = options_of(request);
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    require_room(work, own,
                 {{work.id, &work.engine->memory(), grid_bytes(own.columns, request.entries),
                   grid_bytes_in_the_making(own.columns, request.entries)}});
    std::unique_ptr<GridLoader> loader;
    check(work.engine->grid().open_loader(*work.stream, own.columns, request.entries, &loader));
    own.loader = AnyLoader(std::move(loader));
    reply.handle = add_own_object(work, std::move(own));
}

void handle_begin_column(Work &work, const protocol::BeginColumn &request, protocol::BeginReply &reply) {
    OwnObject own;
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    const std::uint64_t bytes = load_bytes(*work.engine, request);
    require_room_for_columns(work, own, request.layout, {{work.id, &work.engine->memory(), bytes, bytes}});
    std::unique_ptr<ColumnLoader> loader;
    check(work.engine->column().open_loader(*work.stream, request.layout, &loader));
    own.loader = AnyLoader(std::move(loader));
    reply.handle = add_own_object(work, std::move(own));
}

void handle_begin_text(Work &work, const protocol::BeginText &request, protocol::BeginReply &reply) {
    OwnObject own;
    own.lists = shape_of(request);
    own.content_bytes = request.content_bytes;
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    const std::uint64_t bytes = load_bytes(*work.engine, request);
    require_room(work, own, {{work.id, &work.engine->memory(), bytes, bytes}});
    std::unique_ptr<TextLoader> loader;
    check(work.engine->text().open_loader(*work.stream, own.lists, &loader));
    own.loader = AnyLoader(std::move(loader));
    reply.handle = add_own_object(work, std::move(own));
}

void handle_append_pages(Work &work, const protocol::AppendPages &request, protocol::ReplyHeader &) {
    OwnObject &own = object_in_the_making(work, request.handle);
    const PageLayout &layout = request.layout;
    const std::uint64_t bytes = std::uint64_t(request.pages) * layout.page_bytes;
    const void *images = work.connection.buffer.part<char>(request.offset, bytes);
    own.loader.visit([&]<typename Loader>(Loader *loader) {
        const std::uint64_t before = loaded_by(*loader);
        if constexpr (std::is_same_v<Loader, TextLoader>) {
            check(append_lists(work, *loader, own, request, images));
        } else if constexpr (std::is_same_v<Loader, ColumnLoader>) {
            if (layout.page_bytes != loader->layout().page_bytes) {
                refuse("pages have another size");
            }
            check(with_room(work, [&] { return loader->append_pages(*work.stream, images, request.pages); }));
            append_strings(own, images, request.pages);
        } else if constexpr (std::is_same_v<Loader, GridLoader>) {
            const GridPages pages = {images, request.pages, layout.page_bytes, layout.first_byte};
            check(with_room(work, [&] { return loader->append_pages(*work.stream, pages); }));
        } else {
            check(loader->append_pages(*work.stream, {images, request.run_entries, request.run_first,
                                                      request.first_page, request.pages, layout}));
        }
        work.items = loaded_by(*loader) - before;
    });
    work.bytes = bytes;
}

void handle_finish(Work &work, const protocol::HandleRequest &request, protocol::HandleReply &reply) {
    // The object no longer belongs to the connection from here on, so it ends whatever fails.
    object_in_the_making(work, request.handle);
    auto node = work.connection.objects.extract(request.handle);
    OwnObject &own = node.mapped();
    bool ordered = true;
    AnyObject object;
    if (own.loader.grid() != nullptr) {
        object = finish_grid(work, own, *own.loader.grid());
    } else if (own.loader.column() != nullptr) {
        object = finish_columns(work, own);
    } else if (own.loader.text() != nullptr) {
        object = finish_lists(work, own);
    } else {
        object = finish_keys(work, own, &ordered);
    }
    if (!ordered) {
        set_result(reply.header, ReplyResult::disorder);
        reply.header.status =
            make_status(StatusCode::invalid_argument, "the entries are not ordered by key and TID");
        return;
    }
    own.loader = {};
    describe(object, reply);
    work.items = reply.entries;
    work.bytes = reply.bytes;
    make_mirror(work, whole_run(own.held_by, std::move(object)), own.name, own.holder, own.strings.get());
}

void handle_drop(Work &work, const protocol::HandleRequest &request, protocol::ReplyHeader &) {
    own_object(work, request.handle);
    work.connection.objects.erase(request.handle);
}

void handle_set_dead(Work &work, const protocol::SetDead &request, protocol::ReplyHeader &reply) {
    const std::shared_ptr<Mirror> mirror =
        work.server().mirrors().find(work.engine_name, request.name, work.purpose);
    // It may have gone since this engine was chosen, and another one have the run.
    if (mirror == nullptr || mirror->parts.front().held_by != work.id || mirror->parts.size() > 1) {
        set_result(reply, ReplyResult::not_resident);
        reply.lacking = 1;
        return;
    }
    set_dead_of(work, mirror->parts.front(), bitmap_of(work, *mirror, request), request.version);
    work.items = 1;
    work.bytes = request.words * sizeof(std::uint64_t);
}

}  // namespace gpu_engine::server
