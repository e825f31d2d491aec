#if defined(POSTGRES_H) || defined(PG_VERSION_NUM)
#error "A PostgreSQL header was included: the engine knows nothing of PostgreSQL."
#endif
// Every source file under cuda/ includes this last, so that it sees what the others brought in. It has no
// include guard: each inclusion looks again. The public headers don't include it, since src/ includes those
// beside PostgreSQL's.
