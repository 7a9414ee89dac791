// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import ServerRig

/// The servers, the program and the settings that the steps share.
struct DemoStage: Sendable {
    static let host = "img.shop.test"

    let rig: ServerRig
    let resolveTest: String

    /// Starts the servers, and arranges that they are stopped before a signal ends the demo.
    static func prepare(_ screen: Screen) async throws -> DemoStage {
        let rig = try await ServerRig.start(preferredTLSPort: 8443)
        stopOnSignal(rig)
        let version = try await Command("curl", ["--version"]).run().output
        let library = version.split(separator: " ").first { $0.hasPrefix("libcurl/") }.map { $0.dropFirst(8) } ?? "?"
        let scene = "one HTTP-DNS provider, four HTTPS origins on 127.0.0.2-5, a private CA"
        screen.line("\(scene)    \(screen.dim("libcurl \(library)"))\n")
        return DemoStage(rig: rig, resolveTest: try BuiltProduct.path("resolve-test"))
    }

    private static func stopOnSignal(_ rig: ServerRig) {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                Task {
                    try? await rig.stop()
                    exit(128 + number)
                }
            }
            source.activate()
            // Kept for the life of the process.
            _ = Unmanaged.passRetained(source as AnyObject)
        }
    }

    /// Returns `https://img.shop.test:8443` with a path.
    func url(_ path: String) -> String { "https://\(DemoStage.host):\(rig.tlsPort)\(path)" }

    /// Creates a client with the provider, by its bootstrap address, for every name below `test`.
    func newClient() async throws -> HTTPDNSClient {
        var provider = HTTPDNSDoHProvider.Configuration(
            name: "doh",
            url: rig.dohURL,
            bootstrap: [try address("127.0.0.1")]
        )
        provider.trustRoots = .file(rig.certificateAuthorityFile)
        // The demo's origins are on loopback. A provider with public addresses needs no such permission.
        provider.answerScope = .loopback
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        configuration.resolver.providers = [try HTTPDNSDoHProvider(provider)]
        configuration.resolver.routes = [
            HTTPDNSRoute(try HTTPDNSRoute.Pattern("*.test"), .providers(["doh"], fallback: .off))
        ]
        return try await HTTPDNSClient(configuration: configuration)
    }

    /// Creates a client whose settings come from a file, and follow its changes.
    func newClient(file: String) async throws -> HTTPDNSClient {
        var configuration = try HTTPDNSConfigurationFile.read(file)
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        return try await HTTPDNSClient(configuration: configuration)
    }

    /// Writes a file into the folder of the servers.
    /// - Returns: The file's path.
    func write(_ text: String, to name: String) throws -> String {
        let path = "\(rig.folder)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func address(_ text: String) throws -> HTTPDNSAddress {
        guard let address = HTTPDNSAddress(text) else { throw DemoError("\(text) is not an address") }
        return address
    }

    /// The flags of resolve-test for the same settings.
    var resolveTestFlags: [String] {
        [
            "--doh", rig.dohURL, "--bootstrap", "doh.test=127.0.0.1", "--answer-scope", "loopback", "--cacert",
            rig.certificateAuthorityFile,
        ]
    }

    /// The path of resolve-test as typed in the package's folder.
    var shownResolveTest: String {
        let short = ".build/debug/resolve-test"
        let isSame =
            URL(filePath: short).resolvingSymlinksInPath() == URL(filePath: resolveTest).resolvingSymlinksInPath()
        return isSame ? short : resolveTest
    }

    /// Returns the number of requests in the origins' logs whose Host or server name was not the requested name, over the whole
    /// run.
    func requestsUnderAnotherName() -> Int? {
        try? rig.accessLog().filter {
            $0.target.hasPrefix("/a.jpg") && ($0.host != "\(DemoStage.host):\(rig.tlsPort)" || $0.sni != DemoStage.host)
        }.count
    }
}

struct DemoError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
