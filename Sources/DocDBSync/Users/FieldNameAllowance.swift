import DocDBCore

/// How many field names a user may still bring into the table of a store, and how many there were.
package final class FieldNameAllowance {
    private let limit: Int
    package private(set) var takenCount: Int

    package init(limit: Int, takenCount: Int = 0) {
        self.limit = limit
        self.takenCount = takenCount
    }

    /// Counts one name; false where there were enough.
    func take() -> Bool {
        guard takenCount < limit else { return false }
        takenCount += 1
        return true
    }
}

/// How a name of a peer is spelt in a store.
enum NameSpelling {
    case number(Int)
    /// As text, as all that is not interned.
    case text
    /// It would be interned, and the user may bring no more.
    case refused

    /// - Parameter allowance: nil where there is no limit.
    init(_ name: UnsafeRawBufferPointer, _ allowance: FieldNameAllowance?, in names: FieldNames) {
        if let allowance, names.number(of: name) == nil, FieldNames.isInternable(name),
            names.count < Limits.internedFieldNameCount, !allowance.take()
        {
            self = .refused
        } else if let number = names.intern(name) {
            self = .number(number)
        } else {
            self = .text
        }
    }
}
