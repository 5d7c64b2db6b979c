import DocDBCore

/// What the editors of one update share: the document's state, and the first failure.
///
/// Editors may be kept beyond the closure; then the session has ended, reads find nothing and writes do nothing.
final class EditSession {
    let id: DocumentID
    private let names: FieldNames
    private let stamp: Stamp
    /// The state that is edited, nil once the closure has ended.
    private var state: UnsafeMutablePointer<DocumentState>?
    private var failure: DocDBError?
    private var hasChanged = false
    private var path = ByteBuffer(capacity: 64)
    private var payload = ByteBuffer(capacity: 128)
    /// The visible document, encoded when it is first read after a change.
    private var body = ByteBuffer(capacity: 16)
    private var isBodyCurrent = false

    private init(_ state: UnsafeMutablePointer<DocumentState>, stamp: Stamp, id: DocumentID, names: FieldNames) {
        self.state = state
        self.stamp = stamp
        self.id = id
        self.names = names
    }

    /// Runs the closure of an update; returns whether it wrote anything.
    static func run(
        on state: inout DocumentState, stamp: Stamp, id: DocumentID, names: FieldNames,
        _ change: (inout DocumentEditor) throws -> Void
    ) throws -> Bool {
        try withUnsafeMutablePointer(to: &state) { state in
            let session = EditSession(state, stamp: stamp, id: id, names: names)
            defer { session.state = nil }
            var editor = DocumentEditor(session: session)
            try change(&editor)
            if let failure = session.failure { throw failure }
            return session.hasChanged
        }
    }

    // MARK: Reading

    /// The value at a path as it stands now; no names stand for the whole document.
    func value(at names: [String]) -> Value? {
        guard let state else { return nil }
        if !isBodyCurrent {
            body.removeAll()
            guard state.pointee.appendBody(to: &body) else { return nil }
            isBodyCurrent = true
        }
        var identity = ByteBuffer(capacity: 64)
        id.appendCBOR(to: &identity)
        return FieldLookup.value(at: names, body: body.bytes, id: identity.bytes, names: self.names)
    }

    // MARK: Writing

    func assign(_ value: Value?, at names: [String]) {
        if let value { set(value, at: names) } else { unset(names) }
    }

    func set(_ value: Value, at names: [String]) {
        perform(names) { (state) throws(DocDBError) in
            try self.encode(value, depth: names.count)
            try state.pointee.set(self.path.bytes, to: self.payload.bytes, stamp: self.stamp)
            return true
        }
    }

    func set<E: Encodable>(encoding value: E, at names: [String]) {
        guard state != nil, failure == nil else { return }
        do throws(DocDBError) {
            set(try DocumentEncoder().encode(value: value), at: names)
        } catch {
            failure = error
        }
    }

    func merge(_ members: Value, at names: [String]) {
        perform(names, allowsDocument: true) { (state) throws(DocDBError) in
            guard case .object(var members) = members else {
                throw DocDBError(.invalidValue, "only the members of an object can be merged; use set for other values")
            }
            if names.isEmpty, let other = members.removeValue(forKey: "_id") {
                guard (try? DocumentID(other)) == self.id else { throw Self.idIsFixed }
            }
            try self.encode(.object(members), depth: names.count)
            return try state.pointee.merge(
                self.payload.bytes, at: self.path.bytes, skippingEqual: true, stamp: self.stamp)
        }
    }

    func unset(_ names: [String]) {
        perform(names) { (state) throws(DocDBError) in
            if self.value(at: names) == nil { return false }
            try state.pointee.unset(self.path.bytes, stamp: self.stamp)
            return true
        }
    }

    func increment(_ names: [String], by amount: Value) {
        perform(names) { (state) throws(DocDBError) in
            let number: Number
            switch amount {
            case .int(let value): number = .int(value)
            case .float(let value): number = .float(value)
            default:
                throw DocDBError(
                    .typeMismatch, "a field can only be incremented by a number; give an integer or a float")
            }
            try state.pointee.increment(self.path.bytes, by: number, stamp: self.stamp)
            return true
        }
    }

    /// Runs one change with the path encoded; a failure is kept for the end of the closure.
    private func perform(
        _ names: [String], allowsDocument: Bool = false,
        _ change: (UnsafeMutablePointer<DocumentState>) throws(DocDBError) -> Bool
    ) {
        guard let state, failure == nil else { return }
        do throws(DocDBError) {
            guard allowsDocument || !names.isEmpty else { throw DocDBError(.invalidPath, "name the field to change") }
            if let first = names.first, first.utf8.elementsEqual("_id".utf8) { throw Self.idIsFixed }
            let path = names.isEmpty ? nil : try FieldPath(components: names)
            self.path.removeAll()
            path?.appendEncoded(names: self.names, to: &self.path, interning: true)
            if try change(state) {
                hasChanged = true
                isBodyCurrent = false
            }
        } catch {
            failure = error
        }
    }

    private func encode(_ value: Value, depth: Int) throws(DocDBError) {
        payload.removeAll()
        try value.appendCBOR(names: names, depth: depth, to: &payload)
    }

    private static var idIsFixed: DocDBError {
        DocDBError(
            .invalidDocumentID,
            "the _id of a document never changes; insert a document with the new id and remove this one")
    }
}
