package import DocDBCore

/// Where the keys of an issuer come from, kept for a while: concurrent callers share one fetch.
///
/// Keys are fetched again after `keySetLifetime`, and once per `keySetFetchInterval` for a token whose key is not known;
/// where that fails, the keys last fetched serve for `keySetStaleLifetime`.
package actor KeySource {
    /// Fetches the bytes at a URL: over HTTPS, no redirects, at most so many bytes, within 5 s; throws where it cannot.
    package typealias Fetch = @Sendable (_ url: String, _ byteLimit: Int) async throws -> [UInt8]

    private enum Origin: Sendable {
        case fixed(JSONWebKeySet)
        case remote(url: String, Fetch)
    }

    private let origin: Origin
    private var known: (keys: JSONWebKeySet, fetchedAt: UnixTime)?
    private var lastFetch: UnixTime?
    private var lastFailure: DocDBError?
    private var running: Task<Result<JSONWebKeySet, DocDBError>, Never>?

    /// Keys from a file's content, which may be shared secrets.
    package init(content: [UInt8]) throws(DocDBError) {
        origin = .fixed(try JSONWebKeySet(content, allowsSecrets: true))
    }

    /// Keys that are fetched when they are first needed.
    ///
    /// - Throws: `invalidConfiguration` where the URL is not HTTPS.
    package init(url: String, fetch: @escaping Fetch) throws(DocDBError) {
        guard url.asciiLowercased.hasPrefix("https://"), url.utf8.count > "https://".utf8.count else {
            throw DocDBError(.invalidConfiguration, "the URL of a provider's keys (jwks) begins with https://")
        }
        origin = .remote(url: url, fetch)
    }

    /// The key that a token is signed with.
    ///
    /// - Throws: `invalidToken` with reason `unknownKey`, `ambiguousKey` or `wrongKeyType`; `providerUnavailable` where
    ///   the keys cannot be fetched, `invalidKey` where what was fetched is unusable.
    package func key(for token: JSONWebSignature, now: UnixTime) async throws(DocDBError) -> VerificationKey {
        do throws(TokenFailure) {
            if case .fixed(let keys) = origin {
                guard let key = try keys.key(for: token) else { throw TokenFailure.unknownKey }
                return key
            }
        } catch { throw error.error }
        let age = known.map { now.seconds - $0.fetchedAt.seconds }
        if let age, age >= 0, age < AuthenticationLimits.keySetLifetime, let key = try knownKey(token) { return key }
        try await refresh(now: now)
        guard let key = try knownKey(token) else { throw TokenFailure.unknownKey.error }
        return key
    }

    /// The key of a token that names none and is not signed with the key known for it: its issuer may have another one now,
    /// for which it is asked as for one that is not known. Nil where that cannot be.
    package func otherKey(for token: JSONWebSignature, now: UnixTime) async throws(DocDBError) -> VerificationKey? {
        guard case .remote = origin, token.keyID == nil, running != nil || mayFetch(now: now) else { return nil }
        try await refresh(now: now)
        return try knownKey(token)
    }

    private func knownKey(_ token: JSONWebSignature) throws(DocDBError) -> VerificationKey? {
        do throws(TokenFailure) { return try known?.keys.key(for: token) } catch { throw error.error }
    }

    /// Fetches the keys, unless that was tried a moment ago; throws where there are none afterwards.
    private func refresh(now: UnixTime) async throws(DocDBError) {
        if running == nil, !mayFetch(now: now) { return try requireUsable(now: now) }
        let task = running ?? startFetch()
        if running == nil {
            running = task
            lastFetch = now
        }
        let result = await task.value
        // The first caller to wake up takes the result for all.
        if running == task {
            running = nil
            switch result {
            case .success(let keys):
                known = (keys, now)
                lastFailure = nil
            case .failure(let error): lastFailure = error
            }
        }
        try requireUsable(now: now)
    }

    private func mayFetch(now: UnixTime) -> Bool {
        guard let lastFetch else { return true }
        let interval =
            known == nil ? AuthenticationLimits.firstFetchInterval : AuthenticationLimits.keySetFetchInterval
        // A clock that was set back must not stop fetching for as long as it was set back.
        let elapsed = now.seconds.subtractingReportingOverflow(lastFetch.seconds)
        return elapsed.overflow || elapsed.partialValue < 0 || elapsed.partialValue >= interval
    }

    private func requireUsable(now: UnixTime) throws(DocDBError) {
        if let known, now < known.fetchedAt.adding(AuthenticationLimits.keySetStaleLifetime) { return }
        throw lastFailure
            ?? DocDBError(
                .providerUnavailable, "the provider's keys have not been fetched for too long; try again later")
    }

    private func startFetch() -> Task<Result<JSONWebKeySet, DocDBError>, Never> {
        guard case .remote(let url, let fetch) = origin else {
            return Task { .failure(DocDBError(.misuse, "keys from a file are not fetched")) }
        }
        return Task {
            let bytes: [UInt8]
            do {
                bytes = try await fetch(url, AuthenticationLimits.keySetByteCount)
            } catch {
                return .failure(
                    DocDBError(
                        .providerUnavailable, "the provider's keys cannot be fetched; check its URL and the network",
                        context: ["cause": (error as? DocDBError)?.message ?? ""]))
            }
            do throws(DocDBError) {
                return .success(try JSONWebKeySet(bytes, allowsSecrets: false))
            } catch { return .failure(error) }
        }
    }
}
