import CurlTransport
import HTTPDNSClient
import HTTPDNSPrimitives
import HTTPDNSTestKit
import Logging
import Testing

@Suite("Preconnecting")
struct PreconnectingTests {
    private struct Recorder: LogHandler {
        let journal: Journal
        var logLevel = Logger.Level.debug
        var metadata = Logger.Metadata()

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { journal.write("\(event.message)") }
    }

    @Test("its errors are those of a call: with the time that passed, and a log line")
    func errors() async throws {
        let journal = Journal()
        let wire = ScriptedWire { _, _ in
            throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
        }
        let rig = try Rig(wire: wire) { $0.logger = Logger(label: "test") { _ in Recorder(journal: journal) } }
        let refused = await clientError { try await rig.client.preconnect(to: "https://one.test/") }
        #expect(refused?.code == .connectFailed && (refused?.elapsed ?? .zero) > .zero)
        try await rig.client.shutdown()
        let late = await clientError { try await rig.client.preconnect(to: "https://one.test/") }
        #expect(late?.code == .shutDown && (late?.elapsed ?? .zero) > .zero)
        #expect(journal.all.count { $0 == "request failed" } == 2, "\(journal.all)")
    }
}
