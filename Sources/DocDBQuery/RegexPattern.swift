import CPCRE2

/// A regular expression compiled by PCRE2, whose matches are bounded in backtracking, depth and memory.
///
/// One thread at a time: a match uses the pattern's own scratch space.
final class RegexPattern {
    enum Outcome {
        case found, notFound
        /// A limit was reached before the answer was known.
        case exhausted
        /// The subject is not UTF-8.
        case damaged
    }

    /// Why a pattern does not compile.
    struct Failure: Error {
        /// Where in the pattern, in bytes.
        var offset: Int
    }

    private let regex: docdb_regex

    init(_ pattern: String) throws(Failure) {
        var regex = docdb_regex()
        var offset = 0
        var pattern = pattern
        let code = pattern.withUTF8 { bytes in
            withUnsafePointer(to: 0 as UInt8) { empty in
                docdb_regex_compile(
                    bytes.baseAddress ?? empty, bytes.count, QueryLimits.regexMatchCount, QueryLimits.regexDepth,
                    QueryLimits.regexHeapKibibytes, &regex, &offset)
            }
        }
        guard code == 0 else { throw Failure(offset: offset) }
        self.regex = regex
    }

    deinit { docdb_regex_free(regex) }

    /// Looks for the pattern anywhere in `subject`, in at most `steps` steps; also returns how many it took.
    func search(_ subject: UnsafeRawBufferPointer, steps: Int) -> (outcome: Outcome, steps: Int) {
        let allowed = UInt64(max(steps, 0))
        var left = allowed
        let result = withUnsafePointer(to: 0 as UInt8) { empty in
            docdb_regex_search(
                regex, subject.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? empty, subject.count, &left)
        }
        let outcome: Outcome =
            switch result {
            case 1: .found
            case 0: .notFound
            case -2: .damaged
            default: .exhausted
            }
        return (outcome, Int(allowed - left))
    }
}
