//! An in-memory GitHub behind HTTP on loopback, for tests of a bot. Development only.
//!
//! ```no_run
//! # async fn test() {
//! use csis_bench_github::{App, Fault, GitHub, NewPull, Permissions};
//!
//! let github = GitHub::start().await;
//! let number = github.state(|state| {
//!     state.add_repo("acme/harbor").private = true;
//!     state.add_pull("acme/harbor", NewPull::from("grow-ledger").by("alice"))
//! });
//! github.token("a-token", App::github_actions(), Permissions::review());
//! github.fault(Fault::on("POST", "/repos/*/issues/*/comments").times(1).status(502).html());
//!
//! // … the bot runs with GITHUB_API_URL = github.url() …
//!
//! let comments = github.state(|state| state.comments("acme/harbor", number));
//! assert_eq!(comments.len(), 1, "{}", github.calls());
//! # }
//! ```
//!
//! It is the API of github.com at [`GitHub::url`], and that of Enterprise Server at [`GitHub::enterprise_url`]. Every
//! answer has what GitHub's own API description requires; `scripts/referee` holds it to that. What GitHub serves and
//! the bench does not answers 418, so that no test takes it for GitHub's 404.

mod access;
mod checks;
mod clock;
mod comments;
mod document;
mod faults;
mod graphql;
mod http;
mod issues;
mod json;
mod limits;
mod model;
mod new_pull;
mod oidc;
mod pulls;
mod record;
mod repos;
mod route;
mod runs;
mod scene;
mod server;
mod state;

pub use access::{App, Level, Permissions};
pub use clock::Clock;
pub use faults::Fault;
pub use jiff::Timestamp;
pub use limits::RateLimit;
pub use model::{Account, Annotation, ChangedFile, CheckRun, Comment, Issue, OidcSubject, Pull, Repo, WorkflowRun};
pub use new_pull::NewPull;
pub use oidc::Oidc;
pub use record::{Call, Calls};
pub use state::State;

use access::{Identity, Token};
use server::{Inner, Shared};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A GitHub that runs. It stops when the handle is dropped.
///
/// It has a thread of its own, so that a test may call it with a blocking client or start a child that does.
pub struct GitHub {
    shared: Arc<Shared>,
    address: SocketAddr,
    clock: Clock,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl GitHub {
    /// Starts one on a free port.
    pub async fn start() -> GitHub {
        let (github, ready) = GitHub::launch(0);
        let address = ready.await.unwrap_or_else(|_| panic!("the bench's GitHub found no free port"));
        github.at(address)
    }

    /// The same for a test without a runtime.
    pub fn start_blocking() -> GitHub {
        GitHub::start_on(0)
    }

    /// The same on a given port. Panics when it is taken.
    pub fn start_on(port: u16) -> GitHub {
        let (github, ready) = GitHub::launch(port);
        let address =
            ready.blocking_recv().unwrap_or_else(|_| panic!("the bench's GitHub cannot listen on port {port}"));
        github.at(address)
    }

    fn launch(port: u16) -> (GitHub, oneshot::Receiver<SocketAddr>) {
        let clock = Clock::default();
        let state = State::new(clock.clone());
        let shared = Shared::new(Inner { state, faults: Vec::new(), calls: Calls::default(), url: String::new() });
        let (stop, stopped) = oneshot::channel();
        let (listening, ready) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(port, &served, listening, stopped));
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        (GitHub { shared, address, clock, stop: Some(stop), thread: Some(thread) }, ready)
    }

    fn at(mut self, address: SocketAddr) -> GitHub {
        self.address = address;
        self.public_url(&format!("http://{address}"));
        self
    }

    /// Where the API is: `http://127.0.0.1:PORT`, with GraphQL at `/graphql` below it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where the API of Enterprise Server is: `…/api/v3`, with GraphQL at `/api/graphql` beside it.
    pub fn enterprise_url(&self) -> String {
        format!("{}/api/v3", self.url())
    }

    /// The address that URLs in answers begin with, when a proxy stands in front. It is [`GitHub::url`] otherwise.
    pub fn public_url(&self, url: &str) {
        self.shared.lock().url = url.into();
    }

    /// `ACTIONS_ID_TOKEN_REQUEST_URL` of a job: it has a query already, as on GitHub. The token for it is
    /// `state.oidc.request_token`.
    pub fn oidc_url(&self) -> String {
        format!("{}/oidc/token?api-version=2.0", self.url())
    }

    /// Makes a token of an app's installation, good for every repository.
    pub fn token(&self, text: &str, app: App, permissions: Permissions) {
        let token = Token { who: Identity::App(app), permissions, repository: None };
        self.shared.lock().state.put_token(text, token);
    }

    /// Makes a token of an app for one repository, as `GITHUB_TOKEN` is. Other private ones answer 404, other public
    /// ones can be read.
    pub fn token_for(&self, full_name: &str, text: &str, app: App, permissions: Permissions) {
        let token = Token { who: Identity::App(app), permissions, repository: Some(full_name.into()) };
        self.shared.lock().state.put_token(text, token);
    }

    /// Makes a person's token. It may do what the person may: `repo.permissions`.
    pub fn person(&self, text: &str, login: &str) {
        let token = Token { who: Identity::Person(login.into()), permissions: Permissions::new(), repository: None };
        self.shared.lock().state.put_token(text, token);
    }

    /// Takes a token back: it answers 401 then.
    pub fn revoke(&self, text: &str) {
        self.shared.lock().state.tokens.remove(text);
    }

    /// Reads or changes what GitHub holds. The closure must not call the handle.
    pub fn state<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.shared.lock().state)
    }

    /// The clock of its answers and limits.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Something that is to go wrong. Several may wait at a time.
    pub fn fault(&self, fault: Fault) {
        self.shared.lock().faults.push(fault);
    }

    /// Ends every fault.
    pub fn heal(&self) {
        self.shared.lock().faults.clear();
    }

    /// The faults whose calls did not come, or not as often as they wait for: a test that asked for them tested
    /// nothing.
    pub fn unmet_faults(&self) -> Vec<String> {
        self.shared.lock().faults.iter().filter(|fault| fault.waits()).map(Fault::describe).collect()
    }

    /// Every call so far, the OIDC endpoint's too.
    pub fn calls(&self) -> Calls {
        self.shared.lock().calls.clone()
    }

    /// The calls that asked for a change.
    pub fn mutations(&self) -> Calls {
        Calls(self.calls().0.into_iter().filter(|call| call.mutation).collect())
    }

    /// Forgets the calls so far.
    pub fn forget_calls(&self) {
        self.shared.lock().calls.0.clear();
    }

    /// Lays a scene of JSON: see `bench/README.md` for its form.
    pub fn load_scene(&self, json: &str) -> Result<(), String> {
        scene::load(&mut self.shared.lock().state, json)
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

fn serve(port: u16, shared: &Arc<Shared>, listening: oneshot::Sender<SocketAddr>, stopped: oneshot::Receiver<()>) {
    // Without a runtime or a port the sender is dropped, and the start says so.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Ok(listener) = tokio::net::TcpListener::bind(("127.0.0.1", port)).await else { return };
        let Ok(address) = listener.local_addr() else { return };
        let shared = Arc::clone(shared);
        let router = axum::Router::new().fallback(move |request| server::exchange(Arc::clone(&shared), request));
        _ = listening.send(address);
        tokio::select! {
            _ = axum::serve(listener, router) => {}
            _ = stopped => {}
        }
    });
}
