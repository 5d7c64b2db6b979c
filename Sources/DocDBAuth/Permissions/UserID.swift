package import DocDBCore

/// Who somebody is: `provider|subject`.
package enum UserID {
    /// Makes a user id of a provider's name and what that provider calls the user.
    ///
    /// - Throws: `authenticationFailed` where the subject is empty, longer than the limit, or has control characters.
    package static func make(provider: String, subject: String) throws(DocDBError) -> String {
        guard isProviderName(provider) else {
            throw DocDBError(
                .invalidConfiguration,
                "a provider's name has 1 to \(AuthenticationLimits.providerNameByteCount) ASCII letters, digits, '.', '_' and '-'"
            )
        }
        guard (1...AuthenticationLimits.subjectByteCount).contains(subject.utf8.count),
            !subject.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) })
        else {
            throw DocDBError(
                .authenticationFailed,
                "the provider's user id is empty, longer than \(AuthenticationLimits.subjectByteCount) bytes, or has control characters",
                context: ["reason": "invalidUserID"])
        }
        return "\(provider)|\(subject)"
    }

    /// Tells whether a provider may have this name, which has no `|`: so no two pairs give one user id.
    package static func isProviderName(_ name: String) -> Bool {
        (1...AuthenticationLimits.providerNameByteCount).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Tells whether a text is a user id at all: what grants and revocations name.
    package static func isValid(_ id: String) -> Bool {
        guard let bar = id.utf8.firstIndex(of: UInt8(ascii: "|")) else { return false }
        return isProviderName(String(id[..<bar]))
            && (try? make(provider: "p", subject: String(id[id.utf8.index(after: bar)...]))) != nil
    }
}
