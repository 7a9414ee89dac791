extension HTTPDNSTransfer {
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
}
