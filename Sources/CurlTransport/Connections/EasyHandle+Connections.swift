internal import CCurl
internal import HTTPDNSPrimitives

extension EasyHandle {
    /// How long connections are kept, and how the kernel finds out that one is dead.
    func configureConnections() {
        let configuration = loop.configuration
        if !loop.keepsConnections { set(CURLOPT_FORBID_REUSE, 1) }
        set(CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
        set(CURLOPT_MAXLIFETIME_CONN, configuration.lifeSeconds)
        // Keepalive is for whoever waits for a slow answer; what was sent is bounded by TCP_USER_TIMEOUT.
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, 30)
        set(CURLOPT_TCP_KEEPINTVL, 10)
    }

    func limitUnacknowledgedTime(_ descriptor: Int32) {
        guard let limit = loop.configuration.unacknowledgedLimit else { return }
        setUserTimeout(of: descriptor, milliseconds: limit.wholeNanoseconds / 1_000_000)
    }
}

extension TransportConfiguration {
    /// libcurl compares whole seconds that have passed, and lets a connection go when there are more.
    var idleSeconds: Int { max(0, Int(idleLimit.components.seconds) - 1) }
    /// To libcurl 0 means for ever.
    var lifeSeconds: Int { max(1, Int(maximumAge.components.seconds) - 1) }
}
