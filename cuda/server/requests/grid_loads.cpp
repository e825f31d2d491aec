#include "server/requests/grid_loads.h"

namespace gpu_engine::server {

GridPageColumns columns_of(const protocol::BeginGrid &request) {
    if (request.columns > max_grid_columns || request.entries > Grid::max_entries) {
        refuse("more columns or entries than a grid can hold");
    }
    GridPageColumns columns{};
    columns.columns = request.columns;
    for (std::uint32_t c = 0; c < request.columns; ++c) {
        columns.key_bytes[c] = request.key_bytes[c];
        columns.null_bit[c] = request.null_bit[c];
    }
    return columns;
}

GridOptions options_of(const protocol::BeginGrid &request) {
    GridOptions options;
    options.bucket = request.bucket;
    options.unsplit = request.unsplit;
    options.splits = request.distinct != 0 ? GridSplits::distinct : GridSplits::equal;
    return options;
}

std::uint64_t grid_bytes(const GridPageColumns &columns, std::uint64_t entries) {
    return entries * (columns.entry_bytes() + sizeof(std::uint32_t));
}

std::uint64_t grid_bytes_in_the_making(const GridPageColumns &columns, std::uint64_t entries) {
    return entries * columns.entry_bytes() + grid_bytes(columns, entries);
}

std::uint64_t grid_bytes_while_built(const GridPageColumns &columns, std::uint64_t entries) {
    // If all cells are overfull, a device sorts all entries by the cells of lower grids when the file's
    // arrays are there already: seven numbers an entry, with the sort's own. The directory takes some, too.
    constexpr std::uint64_t sorting_bytes = 28;
    constexpr std::uint64_t directory_bytes = 4;
    return grid_bytes_in_the_making(columns, entries) + entries * (sorting_bytes + directory_bytes);
}

AnyObject finish_grid(Work &work, const OwnObject &own, GridLoader &loader) {
    // Makes room for what building takes at most. Not having it all isn't fatal, so the result doesn't
    // matter.
    static_cast<void>(work.server().mirrors().make_room(
        work.id, work.engine->memory(), 3 * grid_bytes(own.columns, loader.entries()), work.purpose));
    std::unique_ptr<GridFile> file;
    check(with_room(work, [&] { return loader.finish(*work.stream, own.grid, &file); }));
    return AnyObject(std::move(file));
}

}  // namespace gpu_engine::server
