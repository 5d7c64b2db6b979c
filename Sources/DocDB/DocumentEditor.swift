import DocDBCore

/// Changes single fields of one document, within the closure of an update.
///
/// Each call is applied at once, so that later reads in the closure see it. The first call that fails makes the update
/// throw when the closure ends, with nothing written; the calls after it do nothing. An editor that is kept beyond the
/// closure reads nothing and changes nothing.
///
/// ```swift
/// try cars.update(id) {
///     $0["views"].increment()
///     $0["price"] = 9_000
///     $0["seller"]["name"].set("Ann")
///     $0.merge(["city": "Ulm", "zip": "89073"], at: "seller")
///     $0["reserved"] = nil
/// }
/// ```
public struct DocumentEditor {
    fileprivate let session: EditSession

    init(session: EditSession) { self.session = session }

    /// The id of the document, which never changes.
    public var id: DocumentID { session.id }

    /// The document as it stands now, the changes of this closure included, `_id` too.
    public var value: Value { session.value(at: []) ?? .object([:]) }

    /// A top-level field, to change or read.
    public subscript(_ name: String) -> FieldEditor { FieldEditor(session: session, path: [name]) }

    /// The value of a top-level field; setting replaces it, setting nil removes it.
    ///
    /// `nil` is no value and removes the field; `.null` is the null value.
    @_disfavoredOverload
    public subscript(_ name: String) -> Value? {
        get { session.value(at: [name]) }
        nonmutating set { session.assign(newValue, at: [name]) }
    }

    /// The field at a path, such as `$0[path: "seller.name"]`, to change or read.
    public subscript(path path: FieldPath) -> FieldEditor { FieldEditor(session: session, path: path.components) }

    /// Replaces the value at a path; objects on the way that do not exist are made.
    ///
    /// - Parameters:
    ///   - path: the field; not `_id`, nor anything within it.
    ///   - value: the new value. An object replaces whatever is there as a whole.
    public func set(_ path: FieldPath, _ value: Value) { session.set(value, at: path.components) }

    /// Writes the members of an object and keeps all other fields.
    ///
    /// - Parameters:
    ///   - members: an object, whose inner objects are merged likewise; fields that are equal already are left alone.
    ///   - path: where to; nil for the document itself.
    public func merge(_ members: Value, at path: FieldPath? = nil) {
        session.merge(members, at: path?.components ?? [])
    }

    /// Removes the field at a path; where there is none, nothing happens.
    public func unset(_ path: FieldPath) { session.unset(path.components) }

    /// Adds a number to the field at a path; a missing field counts as zero. Increments of several replicas add up.
    ///
    /// - Parameters:
    ///   - path: the field, which holds a number or nothing; else the update throws `typeMismatch`.
    ///   - amount: an integer or a float, which may be negative.
    public func increment(_ path: FieldPath, by amount: Value = 1) { session.increment(path.components, by: amount) }
}

/// One field of a document that is being updated.
public struct FieldEditor {
    private let session: EditSession
    private let path: [String]

    fileprivate init(session: EditSession, path: [String]) {
        self.session = session
        self.path = path
    }

    /// The field's value now, the changes of this closure included; nil where the document has no such field.
    public var value: Value? { session.value(at: path) }

    /// A field of the object that this field holds.
    public subscript(_ name: String) -> FieldEditor { FieldEditor(session: session, path: path + [name]) }

    /// The value of a field of the object that this field holds; setting replaces it, setting nil removes it.
    @_disfavoredOverload
    public subscript(_ name: String) -> Value? {
        get { session.value(at: path + [name]) }
        nonmutating set { session.assign(newValue, at: path + [name]) }
    }

    /// Replaces the field's value; objects on the way that do not exist are made.
    ///
    /// - Parameter value: the new value. An object replaces whatever is there as a whole.
    public func set(_ value: Value) { session.set(value, at: path) }

    /// Replaces the field's value by one of the app's own types.
    ///
    /// - Parameter value: anything that can be encoded, such as an `Int`, a `Date` or a struct.
    @_disfavoredOverload
    public func set<E: Encodable>(_ value: E) { session.set(encoding: value, at: path) }

    /// Writes the members of an object into the field and keeps its other members.
    public func merge(_ members: Value) { session.merge(members, at: path) }

    /// Removes the field; where there is none, nothing happens.
    public func unset() { session.unset(path) }

    /// Adds a number to the field; a missing field counts as zero. Increments of several replicas add up.
    ///
    /// - Parameter amount: an integer or a float, which may be negative. Where the field holds something else than a
    ///   number the update throws `typeMismatch`.
    public func increment(by amount: Value = 1) { session.increment(path, by: amount) }
}
