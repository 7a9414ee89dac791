extension HTTPDNSTransfer {
    /// A certificate that a server presented.
    public struct PeerCertificate: Hashable, Sendable {
        /// The certificate in PEM.
        public let pem: String
        /// The subject, as OpenSSL writes a name: `CN = img.shop.example`. For display; it may contain any characters.
        public let subject: String
        /// The issuer, in the same form.
        public let issuer: String
        /// The end of its validity: `Nov 21 09:00:00 2027 GMT`.
        public let expires: String

        package init(pem: String, subject: String, issuer: String, expires: String) {
            self.pem = pem
            self.subject = subject
            self.issuer = issuer
            self.expires = expires
        }
    }
}
