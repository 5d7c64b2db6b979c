import DocDBAuth
import DocDBCore
import Foundation
import Testing

/// Tokens put together by hand, with Foundation's base64 and not the one under test.
enum TestToken {
    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    /// A token of these two texts, signed with Ed25519.
    static func edDSA(_ header: String, _ payload: String, key: PeerKeyPair) throws -> String {
        let input = base64URL([UInt8](header.utf8)) + "." + base64URL([UInt8](payload.utf8))
        return input + "." + base64URL(try key.signature(of: [UInt8](input.utf8)))
    }

    static func json(_ members: [String: Any]) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: members, options: [.sortedKeys]), as: UTF8.self)
    }

    /// The key that signs the vectors' EdDSA tokens.
    static func issuerKey() throws -> PeerKeyPair { try PeerKeyPair(seed: (0..<32).map { UInt8($0) }) }

    /// The claims of the vectors, changed; a claim of `NSNull` is taken out.
    static func claims(_ changes: [String: Any] = [:]) throws -> String {
        var claims: [String: Any] = [
            "iss": "https://issuer.example/", "aud": "cars-app", "sub": "user-1", "iat": TokenVectors.now,
            "exp": TokenVectors.now + 3600,
        ]
        for (name, value) in changes { claims[name] = value is NSNull ? nil : value }
        return try json(claims)
    }

    /// A token with these claims as their issuer would sign it.
    static func token(_ changes: [String: Any] = [:]) throws -> String {
        try edDSA(#"{"alg":"EdDSA","kid":"ed-1"}"#, try claims(changes), key: try issuerKey())
    }
}

/// What a call threw: its code, and its reason where it has one.
struct Outcome: Equatable, CustomStringConvertible {
    var code: String
    var reason: String?

    init(_ code: DocDBError.Code, _ reason: String? = nil) {
        self.code = code.description
        self.reason = reason
    }

    init(_ error: any Error) {
        let known = error as? DocDBError ?? (error as? TokenFailure)?.error
        code = known?.code.description ?? "\(error)"
        reason = known?.context["reason"]
    }

    var description: String { "\(code)(\(reason ?? ""))" }
}

/// What a body throws, or nil.
func outcome(_ body: () throws -> some Any) -> Outcome? {
    do {
        _ = try body()
        return nil
    } catch { return Outcome(error) }
}

/// What a body throws, or nil.
func outcome(_ body: () async throws -> some Any) async -> Outcome? {
    do {
        _ = try await body()
        return nil
    } catch { return Outcome(error) }
}

/// Random numbers from a seed (SplitMix64), which is printed so that a failure can be replayed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64 = .random(in: .min ... .max)) {
        state = seed
        print("seed \(seed)")
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// The bytes with some of them changed, taken out, doubled or cut off.
    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let tokens = Array(#"{}[]":,-0123456789.eE\ntrue"#.utf8)
        for _ in 0..<Int.random(in: 1...6, using: &self) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &self)
            switch Int.random(in: 0..<5, using: &self) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &self)
            case 1: bytes[place] = tokens.randomElement(using: &self) ?? 0
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(contentsOf: bytes[place...].prefix(12), at: place)
            default: bytes.removeSubrange(place...)
            }
        }
        return bytes
    }
}

extension String {
    /// The bytes that hexadecimal digits stand for.
    var hexadecimalBytes: [UInt8] {
        let digits = Array(utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
    }

    var bytes: [UInt8] { [UInt8](utf8) }
}

let vectorTime = UnixTime(seconds: TokenVectors.now)
