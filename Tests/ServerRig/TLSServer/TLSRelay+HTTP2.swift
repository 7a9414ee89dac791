extension TLSRelay {
    /// A relay with the rig's good certificate in front of a server that says these frames, after its SETTINGS, to the first request
    /// of its one HTTP/2 connection. The server lives as long as it is kept.
    public static func saying(_ frames: [UInt8], _ rig: ServerRig) async throws -> (server: RawServer, relay: TLSRelay)
    {
        let server = try RawServer(
            .read(HTTP2Frames.firstRequest),
            .send(HTTP2Frames.settings + frames),
            .hang
        )
        let relay = try await TLSRelay(
            to: server.port,
            certificate: rig.certificateFile("good.pem"),
            key: rig.certificateFile("good.key"),
            protocols: "h2"
        )
        return (server, relay)
    }
}
