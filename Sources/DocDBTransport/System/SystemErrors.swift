import CWebSockets
import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Texts of errors of the operating system and of OpenSSL.
enum SystemErrors {
    /// The text of an `errno`.
    static func text(_ code: Int32) -> String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }

    /// The text of the last error of OpenSSL on this thread, which is cleared.
    static func takeTLSText() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return "unknown error" }
        return String(cString: reason)
    }
}
