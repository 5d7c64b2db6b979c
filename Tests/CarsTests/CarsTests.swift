import Testing

@Suite("The cars app, by scripts against a hub", .timeLimit(.minutes(10)))
struct CarsTests {
    @Test("Two users each see what they may; a refusal is shown, an expiry stops replication, a new login resumes it")
    func twoUsers() async throws {
        let hub = try await HubProcess()
        async let ann = hub.runCars(
            "ann",
            """
            limit 300
            login ann-token
            wait user dev|ann
            add VW Golf 1998
            add Toyota Corolla 2019
            wait car Panda
            # Bob's app writes this one while his login has ended.
            wait car Fabia
            expect count 4
            search VW
            wait found 1
            sell Golf
            wait found 1
            wait no car Golf
            # Written after its own car has left the device, as another actor.
            add Opel Astra 2021
            wait sent
            expect no refused
            """)
        async let bob = hub.runCars(
            "bob",
            """
            limit 300
            expect login
            login no-such-token
            expect alert the static provider does not know the token
            expect login
            login bob-token
            wait user dev|bob
            wait car Corolla
            expect no car Golf
            sell Corolla
            wait refused Corolla
            wait no car Corolla
            show
            revert Corolla
            wait no refused
            wait car Corolla
            add Fiat Panda 2016
            wait sent
            login bob-for-3-seconds
            wait expired
            wait no online
            expect home
            add Skoda Fabia 2018
            wait car Fabia
            expect no sent
            login bob-token
            wait sent
            logout anyway
            wait login
            expect stored 0
            """)
        for (user, run) in [("ann", try await ann), ("bob", try await bob)] {
            #expect(run.status == 0, "\(user): \(run.output)")
        }
        let shown = try await bob.output
        #expect(shown.contains("| refused: Toyota Corolla 2019 (denied, "))
        #expect(!shown.contains("bob-token"))
    }

    @Test("A login is renewed before it ends, and is there at once when the app starts again")
    func renewal() async throws {
        let hub = try await HubProcess()
        let first = try await hub.runCars(
            "bob",
            """
            limit 300
            renew on
            login bob-for-3-seconds
            wait renewed 2
            wait online
            renew off
            wait idle
            login bob-token
            """)
        #expect(first.status == 0, "\(first.output)")
        let second = try await hub.runCars(
            "bob",
            """
            limit 300
            expect home
            expect user dev|bob
            wait online
            offline
            add Fiat Panda 2016
            wait no online
            logout
            expect alert would be lost
            expect home
            logout anyway
            expect stored 0
            """)
        #expect(second.status == 0, "\(second.output)")
    }

    @Test("A revoked user comes to the login view, and another logs in once what the first has left is removed")
    func revocation() async throws {
        let hub = try await HubProcess()
        let first = try await hub.runCars(
            "shared",
            """
            limit 300
            login bob-token
            add Fiat Panda 2016
            wait sent
            """)
        #expect(first.status == 0, "\(first.output)")
        try await hub.revoke("dev|bob")
        let second = try await hub.runCars(
            "shared",
            """
            limit 300
            wait login
            expect stored 1
            login ann-token
            expect alert another user's documents
            expect login
            logout anyway
            expect stored 0
            login ann-token
            wait user dev|ann
            wait car Panda
            sell Panda
            wait refused Panda
            logout anyway
            expect stored 0
            login ann-token
            wait car Panda
            """)
        #expect(second.status == 0, "\(second.output)")
    }

    @Test(
        "A script ends with status 1 where something is not as it says, and tells where",
        arguments: [
            ("show\nexpect home", "failed: line 2: home does not hold; 0 for sale; nobody logged in"),
            ("limit 1\n\n# nobody\nwait count 1", "failed: line 4: count 1 did not hold within 1 s"),
            ("dance", "failed: line 1: there is no command dance"),
            ("wait luck", "failed: line 1: there is no condition 'luck'"),
            ("login wrong\nadd VW Golf 1998", "failed: line 2: before it there is an alert: the static provider"),
            ("login wrong", "failed: at the end there is an alert: the static provider"),
            ("sell Golf", "failed: line 1: there is no car Golf here"),
            ("add Golf", "failed: line 1: a car has a make, a model and a year"),
        ])
    func failures(script: String, message: String) async throws {
        let hub = try await HubProcess()
        let run = try await hub.runCars("ann", script)
        #expect(run.status == 1)
        #expect(run.output.contains(message), "\(run.output)")
    }
}
