// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension TLSRelay {
    /// Creates a relay with the rig's good certificate in front of a server. The server sends its SETTINGS and these frames to
    /// the first request of its single HTTP/2 connection. The server lives as long as it is referenced.
    public static func saying(_ frames: [UInt8]) async throws -> (server: RawServer, relay: TLSRelay) {
        try await saying([frames])
    }

    /// Creates a relay for several connections, one after the other, each with frames of its own.
    public static func saying(_ frames: [[UInt8]]) async throws -> (server: RawServer, relay: TLSRelay) {
        try await scripted(frames.flatMap { connection(saying: $0) })
    }

    /// Returns the steps of one connection, which respond to its first request.
    public static func connection(saying frames: [UInt8]) -> [RawServer.Step] {
        // The preface consists of two lines that end like heads. The rest of the earlier connection is read with the first of
        // them.
        [
            .readHead, .readHead, .read(HTTP2Frames.firstRequest - HTTP2Frames.preface),
            .send(HTTP2Frames.settings + frames),
        ]
    }

    /// Creates a relay in front of a server with these steps, for all connections together.
    public static func scripted(_ steps: [RawServer.Step], protocols: String = "h2") async throws -> (
        server: RawServer, relay: TLSRelay
    ) {
        let server = try RawServer { _ in steps + [.hang] }
        let relay = try await TLSRelay(to: server.port, protocols: protocols)
        return (server, relay)
    }
}
