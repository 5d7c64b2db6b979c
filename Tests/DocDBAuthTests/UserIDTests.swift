import DocDBAuth
import DocDBCore
import Testing

@Suite("User ids")
struct UserIDTests {
    @Test("a user id is the provider's name, a bar, and what the provider calls the user")
    func make() throws {
        #expect(try UserID.make(provider: "auth0", subject: "auth0|x é") == "auth0|auth0|x é")
    }

    @Test(
        "names of providers have no bar, so that no two users have one id", arguments: ["", "a|b", "a b", "é", "a/b"])
    func providers(_ name: String) {
        #expect(outcome { try UserID.make(provider: name, subject: "u") } == Outcome(.invalidConfiguration))
    }

    @Test(
        "subjects are not empty, not endless, and have no control characters",
        arguments: ["", "a\n", "\0", "a\u{7F}", "a\u{85}", String(repeating: "a", count: 257)])
    func subjects(_ subject: String) {
        #expect(
            outcome { try UserID.make(provider: "a", subject: subject) }
                == Outcome(.authenticationFailed, "invalidUserID"))
    }
}
