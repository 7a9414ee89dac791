extension TLSRelay {
    /// A relay with the rig's good certificate in front of a server that says these frames, after its SETTINGS, to the first request
    /// of its one HTTP/2 connection. The server lives as long as it is kept.
    public static func saying(_ frames: [UInt8], _ rig: ServerRig) async throws -> (server: RawServer, relay: TLSRelay)
    {
        try await saying([frames], rig)
    }

    /// The same for several connections, one after the other, each with frames of its own.
    public static func saying(_ frames: [[UInt8]], _ rig: ServerRig) async throws -> (
        server: RawServer, relay: TLSRelay
    ) {
        try await scripted(frames.flatMap { connection(saying: $0) }, rig)
    }

    /// The steps of one connection, which answer its first request.
    public static func connection(saying frames: [UInt8]) -> [RawServer.Step] {
        // The preface is two lines that end as heads do. What is left of the connection before is read with the first of them.
        [
            .readHead, .readHead, .read(HTTP2Frames.firstRequest - HTTP2Frames.preface),
            .send(HTTP2Frames.settings + frames),
        ]
    }

    /// A relay in front of a server that takes these steps, for all connections together.
    public static func scripted(_ steps: [RawServer.Step], _ rig: ServerRig) async throws
        -> (server: RawServer, relay: TLSRelay)
    {
        let server = try RawServer { _ in steps + [.hang] }
        let relay = try await TLSRelay(
            to: server.port,
            certificate: rig.certificateFile("good.pem"),
            key: rig.certificateFile("good.key"),
            protocols: "h2"
        )
        return (server, relay)
    }
}
