/// One thing that is wrong in a store.
package struct VerificationFinding: Hashable, Sendable {
    /// Where it is: a part of the store, and within it a collection, a key or a sequence number.
    package var location: String
    /// What is wrong there, without contents of documents.
    package var message: String

    package init(location: String, message: String) {
        self.location = location
        self.message = message
    }
}
