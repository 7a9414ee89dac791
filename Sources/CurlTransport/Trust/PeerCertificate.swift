/// A certificate that a server showed.
public struct PeerCertificate: Hashable, Sendable {
    /// The certificate in PEM.
    public let pem: String
    /// Whom it is for, as OpenSSL writes a name: `CN = img.shop.example`. For people; it may hold any characters.
    public let subject: String
    /// Who signed it, in the same form.
    public let issuer: String
    /// Until when it holds: `Nov 21 09:00:00 2027 GMT`.
    public let expires: String

    package init(pem: String, subject: String, issuer: String, expires: String) {
        self.pem = pem
        self.subject = subject
        self.issuer = issuer
        self.expires = expires
    }
}

/// The certificates that were shown on the connections of one pin. libcurl tells them to the transfer that made a connection;
/// those after it, which only use it, must know them too.
struct PeerChains {
    private struct Connection {
        var localPort: Int32
        var chain: [PeerCertificate]
    }

    private var connections: [Int32: Connection] = [:]
    private var sockets: [Int32: Int32] = [:]
    /// Nearly always the next connection has the same, and shares its memory.
    private var last: [PeerCertificate] = []

    /// A connection stands.
    mutating func connected(_ socket: Int32, localPort: Int32, _ chain: [PeerCertificate]) {
        if last != chain { last = chain }
        if let before = connections[socket] { sockets[before.localPort] = nil }
        connections[socket] = Connection(localPort: localPort, chain: last)
        sockets[localPort] = socket
    }

    mutating func socketClosed(_ socket: Int32) {
        guard let connection = connections.removeValue(forKey: socket) else { return }
        if sockets[connection.localPort] == socket { sockets[connection.localPort] = nil }
    }

    /// What was shown on the connection with a local port.
    func chain(behind localPort: Int32) -> [PeerCertificate]? {
        sockets[localPort].flatMap { connections[$0]?.chain }
    }

    var count: Int { connections.count }
}
