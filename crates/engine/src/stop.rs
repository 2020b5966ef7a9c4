//! Asking a run to stop: no new child starts, and those that run are interrupted once and awaited.

use tokio::sync::watch;

/// Whether a run goes on. Copies hear the same word.
#[derive(Clone, Debug)]
pub struct Stop(Option<watch::Receiver<bool>>);

/// Says the word. One that is dropped without it stops nothing.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stop {
    /// Nobody will ask.
    pub const NEVER: Stop = Stop(None);

    pub fn never() -> Stop {
        Stop::NEVER
    }

    pub fn pair() -> (Stopper, Stop) {
        let (say, hear) = watch::channel(false);
        (Stopper(say), Stop(Some(hear)))
    }

    /// Stops when this process is interrupted. From then on an interrupt does not end this process by itself, so ask for it where the run begins.
    #[cfg(unix)]
    pub fn at_interrupt() -> std::io::Result<Stop> {
        let mut interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
        let (stopper, stop) = Stop::pair();
        tokio::spawn(async move {
            if interrupts.recv().await.is_some() {
                stopper.stop();
            }
        });
        Ok(stop)
    }

    pub fn is_stopped(&self) -> bool {
        self.0.as_ref().is_some_and(|hear| *hear.borrow())
    }

    /// Ends when the run is to stop; never, when nobody can ask any more.
    pub async fn stopped(&self) {
        if let Some(hear) = &self.0
            && hear.clone().wait_for(|stopped| *stopped).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

impl Stopper {
    pub fn stop(&self) {
        let _ = self.0.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn every_copy_hears_it_and_a_stopper_that_went_stops_nothing() {
        let (stopper, stop) = Stop::pair();
        let copy = stop.clone();
        assert!(!stop.is_stopped() && !Stop::never().is_stopped());
        stopper.stop();
        copy.stopped().await;
        drop(stopper);
        assert!(stop.is_stopped());
        let (gone, stop) = Stop::pair();
        drop(gone);
        assert!(tokio::time::timeout(Duration::from_millis(50), stop.stopped()).await.is_err());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn an_interrupt_of_this_process_stops() {
        let stop = Stop::at_interrupt().unwrap();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT).unwrap();
        tokio::time::timeout(Duration::from_secs(5), stop.stopped()).await.unwrap();
    }
}
