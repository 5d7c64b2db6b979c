// swift-tools-version: 6.2
import PackageDescription

/// The settings every target of this package is compiled with.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "docdb",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "DocDB", targets: ["DocDB"]),
        .library(name: "DocDBSimulation", targets: ["DocDBSimulation"]),
        .executable(name: "docdb-inspect", targets: ["docdb-inspect"]),
        .executable(name: "docdb-hub", targets: ["docdb-hub"]),
        .executable(name: "benchmarks", targets: ["benchmarks"]),
        .executable(name: "cars", targets: ["cars"]),
    ],
    targets: [
        // C libraries: module maps and shims only.
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(
            name: "CLZ4", pkgConfig: "liblz4",
            providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
        .systemLibrary(
            name: "CPCRE2", pkgConfig: "libpcre2-8",
            providers: [.apt(["libpcre2-dev"]), .brew(["pcre2"])]),
        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CXXHash", pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
        .systemLibrary(
            name: "CWebSockets", pkgConfig: "libwebsockets",
            providers: [.apt(["libwebsockets-dev"]), .brew(["libwebsockets"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),

        // Layers, lowest first. Arrows only point down.
        .target(
            name: "Schemas", path: "Schemas",
            exclude: [
                "README.md", "change-log.md", "document-body.cddl", "document-body.md", "document-state.md",
                "grant.cddl",
                "grant.md", "order-encoding.md",
                "permissions.schema.json", "predicates.md", "sync-documents.md", "sync-protocol.cddl",
            ],
            resources: [
                .embedInCode("store.sql"), .embedInCode("replication.sql"), .embedInCode("voided.sql"),
                .embedInCode("users.sql"),
                .embedInCode("collection.sql"), .embedInCode("index.sql"),
            ],
            swiftSettings: settings),
        .target(name: "DocDBCore", swiftSettings: settings),
        .target(name: "DocDBQuery", dependencies: ["DocDBCore", "CPCRE2"], swiftSettings: settings),
        .target(
            name: "DocDBStorage",
            dependencies: ["DocDBCore", "DocDBQuery", "Schemas", "CSQLite", "CLZ4", "CCrypto", "CXXHash"],
            swiftSettings: settings),
        .target(
            name: "DocDBLive", dependencies: ["DocDBCore", "DocDBQuery", "DocDBStorage"], swiftSettings: settings),
        .target(
            name: "DocDBAuth", dependencies: ["DocDBCore", "DocDBQuery", "CCrypto"], swiftSettings: settings),
        .target(
            name: "DocDBTransport", dependencies: ["DocDBCore", "CWebSockets", "CCurl"], swiftSettings: settings),
        .target(
            name: "DocDBSync", dependencies: ["DocDBCore", "DocDBQuery", "DocDBStorage", "CLZ4", "CCrypto"],
            swiftSettings: settings),
        .target(
            name: "DocDBReplication",
            dependencies: [
                "DocDBCore", "DocDBQuery", "DocDBStorage", "DocDBAuth", "DocDBSync", "DocDBTransport", "CCrypto",
            ],
            swiftSettings: settings),
        .target(
            name: "DocDB",
            dependencies: [
                "DocDBCore", "DocDBQuery", "DocDBStorage", "DocDBAuth", "DocDBLive", "DocDBSync", "DocDBTransport",
                "DocDBReplication",
            ],
            swiftSettings: settings),
        .target(
            name: "DocDBSimulation",
            dependencies: [
                "DocDB", "DocDBReplication", "DocDBTransport", "DocDBSync", "DocDBLive", "DocDBStorage", "DocDBQuery",
                "DocDBCore", "CSQLite",
            ],
            swiftSettings: settings),

        // Tools.
        .target(
            name: "DocDBInspect",
            dependencies: ["DocDB", "DocDBStorage", "DocDBQuery", "DocDBCore"], swiftSettings: settings),
        .executableTarget(
            name: "docdb-inspect", dependencies: ["DocDBInspect"], swiftSettings: settings),
        .target(
            name: "DocDBHub",
            dependencies: [
                "DocDB", "DocDBReplication", "DocDBAuth", "DocDBSync", "DocDBTransport", "DocDBStorage", "DocDBCore",
            ],
            swiftSettings: settings),
        .executableTarget(name: "docdb-hub", dependencies: ["DocDBHub"], swiftSettings: settings),
        .executableTarget(
            name: "crash-loop", dependencies: ["DocDB", "DocDBCore"], path: "Tests/CrashLoop", swiftSettings: settings),
        .executableTarget(
            name: "soak",
            dependencies: [
                "DocDB", "DocDBSimulation", "DocDBReplication", "DocDBTransport", "DocDBSync", "DocDBAuth",
                "DocDBStorage", "DocDBCore",
            ],
            path: "Tests/Soak", swiftSettings: settings),
        .target(
            name: "BenchmarkSuite",
            dependencies: [
                "DocDB", "DocDBHub", "DocDBReplication", "DocDBSync", "DocDBAuth", "DocDBTransport", "CSQLite",
                "CCrypto", "CWebSockets",
            ],
            path: "Benchmarks/Suite",
            swiftSettings: settings),
        .target(name: "CAllocationCounter", path: "Benchmarks/AllocationCounter"),
        .executableTarget(
            name: "benchmarks", dependencies: ["BenchmarkSuite", "CAllocationCounter"], path: "Benchmarks/Main",
            swiftSettings: settings),

        // An app as others would write it, over the public API.
        .executableTarget(
            name: "cars", dependencies: ["DocDB"], path: "Examples/Cars", exclude: ["README.md", "hub.json"],
            swiftSettings: settings
        ),

        // Tests, one target a layer, and what several of them need.
        .target(
            name: "SyncModel", dependencies: ["DocDBSync", "DocDBQuery", "DocDBCore"], path: "Tests/SyncModel",
            swiftSettings: settings),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "SyncModel", "DocDBInspect", "DocDBSimulation", "DocDB", "DocDBSync", "DocDBAuth", "DocDBStorage",
                "DocDBQuery", "DocDBCore",
            ],
            path: "Tests/Fuzzing/Targets", swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["DocDBTransport", "DocDBCore", "CWebSockets"], path: "Tests/Support",
            swiftSettings: settings),
        .testTarget(
            name: "SchemasTests",
            dependencies: [
                "DocDB", "DocDBSync", "DocDBAuth", "DocDBStorage", "DocDBQuery", "DocDBCore", "CXXHash",
            ],
            swiftSettings: settings),
        .testTarget(name: "DocDBCoreTests", dependencies: ["DocDBCore", "CCrypto"], swiftSettings: settings),
        .testTarget(name: "DocDBQueryTests", dependencies: ["DocDBQuery", "DocDBCore"], swiftSettings: settings),
        .testTarget(
            name: "DocDBStorageTests",
            dependencies: ["DocDBStorage", "DocDBQuery", "DocDBCore", "CSQLite"], swiftSettings: settings),
        .testTarget(
            name: "DocDBLiveTests", dependencies: ["DocDBLive", "DocDBStorage", "DocDBQuery", "DocDBCore"],
            swiftSettings: settings),
        .testTarget(
            name: "DocDBAuthTests", dependencies: ["DocDBAuth", "DocDBQuery", "DocDBCore", "CCrypto"],
            exclude: ["make-token-vectors.py"],
            swiftSettings: settings),
        .testTarget(
            name: "DocDBTransportTests", dependencies: ["TestSupport", "DocDBTransport", "DocDBCore", "CWebSockets"],
            swiftSettings: settings),
        .testTarget(
            name: "DocDBSyncTests",
            dependencies: [
                "SyncModel", "DocDBSync", "DocDBReplication", "DocDBAuth", "DocDBStorage", "DocDBQuery", "DocDBCore",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DocDBReplicationTests",
            dependencies: [
                "DocDBReplication", "DocDBAuth", "DocDBSync", "DocDBTransport", "DocDBStorage", "DocDBQuery",
                "DocDBCore",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DocDBTests", dependencies: ["TestSupport", "DocDB", "DocDBTransport", "DocDBCore"],
            swiftSettings: settings),
        .testTarget(
            name: "DocDBSimulationTests",
            dependencies: ["DocDBSimulation", "DocDB", "DocDBSync", "DocDBStorage", "DocDBCore"],
            swiftSettings: settings),
        .testTarget(name: "DocDBInspectTests", dependencies: ["DocDBInspect", "DocDB"], swiftSettings: settings),
        .testTarget(
            name: "DocDBHubTests",
            dependencies: [
                "TestSupport", "DocDBHub", "DocDB", "DocDBReplication", "DocDBAuth", "DocDBSync", "DocDBTransport",
                "DocDBStorage", "DocDBCore",
            ],
            swiftSettings: settings),
        // Runs the programs cars and docdb-hub, which are built beside it.
        .testTarget(name: "CarsTests", dependencies: ["TestSupport", "DocDB"], swiftSettings: settings),
        .testTarget(name: "BenchmarkSuiteTests", dependencies: ["BenchmarkSuite"], swiftSettings: settings),
        .testTarget(
            name: "FuzzTargetsTests", dependencies: ["FuzzTargets"], path: "Tests/Fuzzing/Replay",
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// The fuzzer links only with libFuzzer, so that it is there only when asked for: see Scripts/fuzz.
if Context.environment["DOCDB_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzzing/Main", swiftSettings: settings))
}
